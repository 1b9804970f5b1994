// How fast the emulator of AMD GPUs is: wave instructions a second, on one thread.
//
//   emulator_speed CODE_OBJECT KERNEL THREADS [ARGUMENT…]
//
// Runs one group of the kernel again and again until a second has passed. An argument is a number of 64 bits, or
// "buffer" for the address of 64 MiB of zeros, which all of these share.
#include "runtime/emulate/Emulate.h"

#include "llvm/Support/MemoryBuffer.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>

using namespace sectile;

static int fail(const std::string &message) {
  std::fprintf(stderr, "emulator_speed: %s\n", message.c_str());
  return 1;
}

int main(int argc, char **argv) {
  if (argc < 4)
    return fail("usage: emulator_speed CODE_OBJECT KERNEL THREADS [ARGUMENT…]");
  auto file = llvm::MemoryBuffer::getFile(argv[1]);
  if (!file)
    return fail(std::string(argv[1]) + ": " + file.getError().message());
  auto code = emulate::CodeObject::load((*file)->getBuffer());
  if (!code)
    return fail(toString(code.takeError()));
  const std::string kernel = argv[2];
  std::vector<uint8_t> buffer(size_t(64) << 20);
  const uint64_t begin = reinterpret_cast<uint64_t>(buffer.data());
  std::vector<int64_t> arguments;
  for (int i = 4; i < argc; ++i)
    arguments.push_back(llvm::StringRef(argv[i]) == "buffer" ? int64_t(begin) : std::atoll(argv[i]));
  const emulate::MemoryRange range{begin, begin + buffer.size(), true, "buffer"};
  emulate::Launch launch;
  launch.threads = uint32_t(std::atoi(argv[3]));
  launch.kernarg = arguments, launch.memory = range;

  emulate::Counters total;
  const auto start = std::chrono::steady_clock::now();
  std::chrono::duration<double> passed(0);
  while (passed.count() < 1) {
    auto counters = emulate::run(**code, kernel, launch);
    if (!counters)
      return fail(toString(counters.takeError()));
    total += *counters;
    passed = std::chrono::steady_clock::now() - start;
  }
  std::printf("%s on %s: %.2f million wave instructions a second (VALU %.0f%%, matrix %.0f%%)\n", kernel.c_str(),
              (*code)->processor().str().c_str(), double(total.waveInstructions) / passed.count() / 1e6,
              100.0 * double(total.valu) / double(total.waveInstructions),
              100.0 * double(total.mfma) / double(total.waveInstructions));
  return 0;
}
