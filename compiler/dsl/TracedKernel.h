// A kernel after tracing: its IR and what it declares. Free of MLIR types, so that the runtime can hold it.
#pragma once

#include "sectile/Trace.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace mlir {
class MLIRContext;
class ModuleOp;
} // namespace mlir

namespace sectile {

/// One declared argument of a kernel, in order.
struct Parameter {
  enum class Access : uint8_t { input, output, inout, scalar };
  std::string name;
  Access access;
  Type type;
  int32_t rank; ///< 0 for a scalar
  bool operator==(const Parameter &) const = default;
};

/// What a launch guarantees about one argument, and code generation may rely on.
struct ArgumentFacts {
  bool unitStride = false; ///< the last dimension has stride 1 (or size <= 1)
  /// The address, all strides but the last (of sizes > 1) and the size of the last dimension are multiples of 16 bytes:
  /// where the last stride is 1, the array consists of whole chunks.
  bool aligned16 = false;
  /// The hardware's bulk copies (TMA) can map the array: both of the above, rank 2 to 5, every size at least 1 and
  /// below 2^32, strides of sizes > 1 positive and below 2^40 bytes.
  bool bulk = false;
  bool operator==(const ArgumentFacts &) const = default;
};

class TracedKernel {
public:
  TracedKernel(TracedKernel &&) noexcept;
  TracedKernel &operator=(TracedKernel &&) noexcept;
  ~TracedKernel();

  const std::string &name() const;
  const std::vector<Parameter> &parameters() const;
  /// The tile stage as text. Without locations it is what the content key is made from.
  std::string text(bool locations) const;
  mlir::MLIRContext &context() const;
  mlir::ModuleOp module() const;

  /// Parses a module with one tile.kernel (an edited dump, a lit test). `name` is for messages.
  static TracedKernel parse(const std::string &text, const std::string &name);

private:
  friend TracedKernel trace(const std::string &, const std::function<void(Trace &)> &, const Schedule &,
                            const std::vector<ArgumentFacts> &);
  struct Impl;
  explicit TracedKernel(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

/// Runs `body` and verifies what it built. Throws UserError (from the DSL's checks, with the source line), or
/// InternalError when the result does not verify. `facts` are by argument position; missing ones are all false.
TracedKernel trace(const std::string &name, const std::function<void(Trace &)> &body, const Schedule &schedule,
                   const std::vector<ArgumentFacts> &facts);

} // namespace sectile
