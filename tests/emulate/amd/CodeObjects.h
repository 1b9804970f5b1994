// Code objects for tests: from LLVM IR or assembly, by the tools of LLVM's packages.
#pragma once

#include "runtime/emulate/Emulate.h"

#include "llvm/ADT/StringRef.h"

#include <string>
#include <vector>

namespace sectile::test {

inline const std::vector<std::string> amdProcessors = {"gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201"};

/// Compiled with -O3. The text needs no target; it may name kernels `amdgpu_kernel`.
std::shared_ptr<const emulate::CodeObject> compileIr(const std::string &processor, const std::string &ir);

/// The body of a kernel 'k' in assembly: kernarg in s[0:1] (gfx9 and gfx11), work-item in v0, group in s2.
struct AssemblyKernel {
  std::string body;
  unsigned ldsSize = 0, vgprs = 64, privateSize = 0;
};
std::shared_ptr<const emulate::CodeObject> assemble(const std::string &processor, const AssemblyKernel &kernel);

/// What `run` says about a kernel that must fail.
std::string failureOf(const emulate::CodeObject &code, llvm::StringRef kernel, const emulate::Launch &launch);

template <class T> emulate::MemoryRange rangeOf(std::vector<T> &data, bool writable, std::string name) {
  const uint64_t begin = reinterpret_cast<uint64_t>(data.data());
  return {begin, begin + data.size() * sizeof(T), writable, std::move(name)};
}
template <class T> int64_t addressOf(std::vector<T> &data) { return reinterpret_cast<int64_t>(data.data()); }

} // namespace sectile::test
