// Machine code in this process's memory.
#pragma once

#include "compiler/Compiler.h"

#include "llvm/Support/Error.h"

#include <memory>
#include <string>

namespace sectile {

/// A loaded ELF object; its memory, never writable and executable at once, lives as long as this does.
class HostCode {
public:
  /// `object` has been checked against its checksum: it is what our compiler wrote. An internal error names the symbol
  /// when `entry` is not defined in it, or it needs one that it does not define.
  static llvm::Expected<std::shared_ptr<HostCode>> load(llvm::StringRef object, const std::string &entry);
  ~HostCode();

  HostEntry entry() const { return function; }

private:
  struct Memory;
  HostCode(std::unique_ptr<Memory> memory, HostEntry function);

  std::unique_ptr<Memory> memory;
  HostEntry function;
};

} // namespace sectile
