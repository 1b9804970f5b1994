#include "runtime/cuda/Architecture.h"

namespace sectile::cuda {

std::optional<Architecture> Architecture::ofTarget(llvm::StringRef target) {
  Architecture result;
  if (!target.consume_front("nvptx:sm_") || target.consumeInteger(10, result.sm))
    return std::nullopt;
  result.specific = target.consume_front("a");
  return target.empty() || target.starts_with(":") ? std::optional(result) : std::nullopt;
}

} // namespace sectile::cuda
