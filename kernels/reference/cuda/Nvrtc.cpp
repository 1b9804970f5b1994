#include "kernels/reference/cuda/Nvrtc.h"

#include "sectile/Error.h"

#include <dlfcn.h>
#include <memory>
#include <vector>

namespace sectile::reference::oracle {
namespace {

/// The functions that we need; the interface is stable since CUDA 11.1.
class Nvrtc {
public:
  using Program = struct ProgramObject *;

  static const Nvrtc &get() {
    static const Nvrtc nvrtc;
    return nvrtc;
  }

  const char *(*errorText)(int status) = nullptr;
  int (*create)(Program *, const char *source, const char *name, int headers, const char *const *texts,
                const char *const *names) = nullptr;
  int (*compile)(Program, int options, const char *const *) = nullptr;
  int (*logSize)(Program, size_t *) = nullptr;
  int (*log)(Program, char *) = nullptr;
  int (*cubinSize)(Program, size_t *) = nullptr;
  int (*cubin)(Program, char *) = nullptr;
  int (*destroy)(Program *) = nullptr;

private:
  Nvrtc() {
    void *library = open();
    const auto find = [&](auto &function, const char *symbol) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, symbol));
      if (!function)
        throw DeviceError(std::string("NVRTC: the library has no function ") + symbol + ": it must be 11.1 or later");
    };
    find(errorText, "nvrtcGetErrorString");
    find(create, "nvrtcCreateProgram");
    find(compile, "nvrtcCompileProgram");
    find(logSize, "nvrtcGetProgramLogSize");
    find(log, "nvrtcGetProgramLog");
    find(cubinSize, "nvrtcGetCUBINSize");
    find(cubin, "nvrtcGetCUBIN");
    find(destroy, "nvrtcDestroyProgram");
  }

  static void *open() {
    std::string tried;
    for (const char *folder : {"", "/usr/local/cuda/lib64/", "/usr/local/cuda/lib/"})
      for (const char *name : {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"}) {
        const std::string path = std::string(folder) + name;
        if (void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL))
          return library;
        tried += (tried.empty() ? "" : ", ") + path;
      }
    throw DeviceError("no NVRTC: none of these opens: " + tried);
  }
};

} // namespace

std::string compileCuda(std::span<const SourceFile> files, const std::string &architecture) {
  const Nvrtc &nvrtc = Nvrtc::get();
  std::vector<const char *> names, texts;
  for (const auto &[name, text] : files.subspan(1)) {
    names.push_back(name);
    texts.push_back(text);
  }
  const auto check = [&](int status, const std::string &what) {
    if (status != 0)
      throw DeviceError("NVRTC: " + what + ": " + nvrtc.errorText(status));
  };
  Nvrtc::Program program = nullptr;
  check(nvrtc.create(&program, files[0].second, files[0].first, static_cast<int>(names.size()), texts.data(),
                     names.data()),
        "making a program");
  const auto destroy = [&](Nvrtc::Program *owned) { (void)nvrtc.destroy(owned); };
  const std::unique_ptr<Nvrtc::Program, decltype(destroy)> owner(&program, destroy);

  const std::string target = "--gpu-architecture=" + architecture;
  // No contraction: the naive computation rounds every product, as the host's does.
  const char *options[] = {target.c_str(), "--std=c++17", "--fmad=false"};
  if (const int status = nvrtc.compile(program, std::size(options), options); status != 0) {
    size_t size = 0;
    check(nvrtc.logSize(program, &size), "reading messages");
    std::string messages(size, '\0');
    check(nvrtc.log(program, messages.data()), "reading messages");
    check(status, std::string(files[0].first) + " for " + architecture + ": " + messages.c_str());
  }
  size_t size = 0;
  check(nvrtc.cubinSize(program, &size), "reading machine code");
  std::string cubin(size, '\0');
  check(nvrtc.cubin(program, cubin.data()), "reading machine code");
  return cubin;
}

std::string whyNoNvrtc() {
  try {
    Nvrtc::get();
    return "";
  } catch (const DeviceError &error) {
    return error.what();
  }
}

} // namespace sectile::reference::oracle
