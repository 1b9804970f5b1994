// The state of the fake driver, for the files that hold its functions.
#pragma once

#include "tests/support/fake_cuda/FakeCuda.h"

#include <deque>
#include <map>
#include <memory>
#include <mutex>

namespace fake {

using namespace sectile::test;

enum Status : int {
  success = 0,
  invalidValue = 1,
  outOfMemory = 2,
  notInitialized = 3,
  noDevice = 100,
  invalidDevice = 101,
  invalidImage = 200,
  invalidContext = 201,
  noBinaryForGpu = 209,
  invalidPtx = 218,
  unsupportedPtx = 222,
  invalidHandle = 400,
  notFound = 500,
  illegalAddress = 700,
  captureUnsupported = 900
};

struct Context {
  int device;
  bool primary;
};
struct StreamObject {
  Context *context;
  bool capturing = false, invalidated = false;
};
struct Function {
  Context *context;
  std::string name;
  size_t parameterBytes, parameterAlignment;
  int maxDynamicShared = 48 << 10, carveout = -1;
};
struct Module {
  Context *context;
  std::string text;
  bool isText; ///< PTX, or machine code that this driver made from it
  std::deque<Function> functions;
};
struct Linker {
  std::string ptx, cubin;
};
struct Allocation {
  char *begin;
  size_t bytes;
  int device;
  FakeCuda::Memory kind;
};
struct LaunchConfig {
  unsigned gridX, gridY, gridZ, blockX, blockY, blockZ, sharedBytes;
  StreamObject *stream;
  void *attributes;
  unsigned attributeCount;
};

struct Failure {
  Status status;
  int skip;
};

inline const std::string machineCode = "\177FAKE sm_"; ///< how this driver's machine code begins

inline thread_local Context *currentContext = nullptr;
inline thread_local int captureMode = 0; // global

class Driver final : public FakeCuda {
public:
  //===-- FakeCuda ----------------------------------------------------------------------------------------------===//

  void reset(std::vector<FakeDevice> given) override {
    std::lock_guard lock(mutex);
    devices = std::move(given);
    primaries.assign(devices.size(), {});
    for (size_t i = 0; i < devices.size(); ++i)
      primaries[i].context = Context{static_cast<int>(i), true};
    failures.clear(), log.clear(), launched.clear(), encoded.clear(), contexts.clear(), streams.clear(), loaded.clear();
    allocations.clear();
    memory.clear();
    initialized = false;
    currentContext = nullptr;
    lastCarveout = -1;
    cubinParameterBytes = 0;
  }
  void fail(const std::string &function, int status, int which) override {
    std::lock_guard lock(mutex);
    failures[function] = {static_cast<Status>(status), which};
  }
  std::vector<std::string> calls() const override {
    std::lock_guard lock(mutex);
    return log;
  }
  void forgetCalls() override {
    std::lock_guard lock(mutex);
    log.clear();
  }
  std::vector<FakeLaunch> launches() const override {
    std::lock_guard lock(mutex);
    return launched;
  }
  std::vector<FakeTensorMap> tensorMaps() const override {
    std::lock_guard lock(mutex);
    return encoded;
  }
  int modules() const override {
    std::lock_guard lock(mutex);
    return static_cast<int>(loaded.size());
  }
  int retained(int device) const override {
    std::lock_guard lock(mutex);
    return primaries.at(static_cast<size_t>(device)).retains;
  }
  bool everCreated(int device) const override {
    std::lock_guard lock(mutex);
    return primaries.at(static_cast<size_t>(device)).created;
  }
  int carveout() const override {
    std::lock_guard lock(mutex);
    return lastCarveout;
  }

  void *primaryContext(int device) override {
    std::lock_guard lock(mutex);
    Primary &primary = primaries.at(static_cast<size_t>(device));
    primary.created = true;
    return &primary.context;
  }
  void *makeContext(int device) override {
    std::lock_guard lock(mutex);
    return &contexts.emplace_back(Context{device, false});
  }
  void *current() const override { return currentContext; }
  void setCurrent(void *context) override { currentContext = static_cast<Context *>(context); }
  void *makeStream(void *context) override {
    std::lock_guard lock(mutex);
    return &streams.emplace_back(StreamObject{static_cast<Context *>(context)});
  }
  void beginCapture(void *stream) override {
    std::lock_guard lock(mutex);
    *static_cast<StreamObject *>(stream) = {static_cast<StreamObject *>(stream)->context, true, false};
  }
  bool endCapture(void *stream) override {
    std::lock_guard lock(mutex);
    static_cast<StreamObject *>(stream)->capturing = false;
    return !static_cast<StreamObject *>(stream)->invalidated;
  }
  void *allocate(int device, size_t bytes, Memory kind) override {
    std::lock_guard lock(mutex);
    return allocateLocked(device, bytes, kind);
  }
  void setParameterBytes(size_t bytes) override {
    std::lock_guard lock(mutex);
    cubinParameterBytes = bytes;
  }

  //===-- for the functions below, which hold the lock ------------------------------------------------------------===//

  void *allocateLocked(int device, size_t bytes, Memory kind) {
    memory.push_back(std::make_unique<char[]>(bytes + 256));
    auto *begin = reinterpret_cast<char *>((reinterpret_cast<uintptr_t>(memory.back().get()) + 255) & ~uintptr_t{255});
    allocations.push_back({begin, bytes, device, kind});
    return begin;
  }
  const Allocation *find(uint64_t address) const {
    for (const Allocation &allocation : allocations)
      if (address >= reinterpret_cast<uintptr_t>(allocation.begin) &&
          address < reinterpret_cast<uintptr_t>(allocation.begin) + allocation.bytes)
        return &allocation;
    return nullptr;
  }
  /// What must not happen beside a capture; it spoils the capture as well.
  bool forbiddenNow() {
    bool forbidden = false;
    for (StreamObject &stream : streams)
      if (stream.capturing && captureMode != 2)
        forbidden = stream.invalidated = true;
    return forbidden;
  }

  struct Primary {
    Context context{0, true};
    int retains = 0;
    bool created = false;
  };
  mutable std::mutex mutex;
  bool initialized = false;
  std::vector<FakeDevice> devices;
  std::vector<Primary> primaries;
  std::map<std::string, Failure> failures;
  std::vector<std::string> log;
  std::vector<FakeLaunch> launched;
  std::vector<FakeTensorMap> encoded;
  std::deque<Context> contexts;
  std::deque<StreamObject> streams;
  std::vector<std::unique_ptr<Module>> loaded;
  std::vector<std::unique_ptr<char[]>> memory;
  std::vector<Allocation> allocations;
  int lastCarveout = -1;
  size_t cubinParameterBytes = 0;
};

inline Driver &driver() {
  static Driver instance;
  return instance;
}

/// Runs a function of the driver: recorded, failing when it is told to.
template <class Body> Status call(const char *name, Body &&body) {
  Driver &d = driver();
  std::lock_guard lock(d.mutex);
  d.log.emplace_back(name);
  if (auto failure = d.failures.find(name); failure != d.failures.end() && failure->second.skip-- == 0) {
    const Status status = failure->second.status;
    d.failures.erase(failure);
    return status;
  }
  if (!d.initialized && std::string(name) != "cuInit")
    return notInitialized;
  return body(d);
}
template <class Body> Status callInContext(const char *name, Body &&body) {
  return call(name, [&](Driver &d) { return currentContext ? body(d, *currentContext) : invalidContext; });
}

} // namespace fake
