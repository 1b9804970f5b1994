#include "Residence.h"

#include "compiler/support/Diagnostic.h"
#include "runtime/cuda/Memory.h"
#include "sectile/Error.h"

#include <chrono>
#include <map>

namespace sectile::cli {
namespace {

class HostResidence final : public Residence {
public:
  ArrayView moved(const ArrayView &host) override { return host; }
  void fetch(const ArrayView &) override {}
  Stream stream() const override { return Stream::host(); }
  double time(const std::function<void()> &run) override {
    const auto begin = std::chrono::steady_clock::now();
    run();
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
  }
};

/// The device on which the session would launch by itself.
const cuda::Device &deviceOf(const Session &session, const cuda::Devices &devices) {
  const llvm::StringRef target = session.options().target;
  size_t ordinal = 0;
  if (llvm::StringRef number = target; number.consume_front("cuda:") && !number.getAsInteger(10, ordinal))
    return devices[ordinal];
  const std::optional<cuda::Architecture> architecture = cuda::Architecture::ofTarget(session.target());
  const cuda::Device *device = architecture ? devices.firstToRun(*architecture) : nullptr;
  if (!device)
    throw DeviceError("no GPU here runs code for " + session.target() + "; there are " + devices.list());
  return *device;
}

class CudaResidence final : public Residence {
public:
  explicit CudaResidence(const Session &session)
      : devices(valueOrThrow(cuda::Devices::open(session.options().cudaDriver))), device(deviceOf(session, *devices)),
        queue(device) {}

  ArrayView moved(const ArrayView &host) override {
    const auto bytes = static_cast<size_t>(host.elements() * typeBytes(host.type));
    const cuda::Memory &copy = copies.try_emplace(host.data, device, bytes).first->second;
    copy.upload(host.data);
    ArrayView there = host;
    there.data = copy.data();
    return there;
  }
  void fetch(const ArrayView &host) override {
    queue.synchronize();
    copies.at(host.data).download(host.data);
  }
  Stream stream() const override { return Stream::cuda(queue.handle()); }
  double time(const std::function<void()> &run) override { return queue.time(run); }

private:
  const std::shared_ptr<const cuda::Devices> devices;
  const cuda::Device &device;
  const cuda::OwnedStream queue;
  std::map<void *, cuda::Memory> copies; // by their address on the host
};

} // namespace

std::unique_ptr<Residence> Residence::of(const Session &session) {
  if (cuda::Architecture::ofTarget(session.target()))
    return std::make_unique<CudaResidence>(session);
  return std::make_unique<HostResidence>();
}

} // namespace sectile::cli
