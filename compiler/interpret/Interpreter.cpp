// Binds the arguments of a launch to the kernel's block arguments and executes the body.
#include "compiler/interpret/Interpreter.h"

#include "compiler/interpret/Frame.h"
#include "compiler/ir/Tile.h"
#include "compiler/support/Diagnostic.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Location.h"

#include <bit>

using namespace sectile;
using namespace sectile::interpreter;

llvm::Error interpreter::errorAt(mlir::Operation &op, const llvm::Twine &message) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (auto location = op.getLoc()->findInstanceOf<mlir::FileLineColLoc>())
    os << location.getFilename().getValue() << ':' << location.getLine();
  else
    os << op.getLoc();
  os << ": error: '" << op.getName().getStringRef() << "' " << message;
  return userError(text);
}

llvm::Error interpreter::execute(mlir::Operation &op, Frame &frame) {
  for (const auto group : {executeElementwise, executeShape, executeMemory, executeCompute, executeControl})
    if (Outcome outcome = group(op, frame))
      return std::move(*outcome);
  return errorAt(op, "is not an operation of a tile kernel: those are tile.*, scf.for, scf.if, and arithmetic of arith "
                     "and math");
}

namespace {

/// Reads one argument from the words of a launch and advances past it.
llvm::Expected<Datum> bind(ir::KernelOp kernel, mlir::BlockArgument argument, const int64_t *&words) {
  const std::optional<Element> element = elementOf(argument.getType());
  if (auto view = mlir::dyn_cast<ir::ViewType>(argument.getType())) {
    const size_t rank = view.getRank();
    ViewDatum datum{reinterpret_cast<char *>(words[0]), {words + 1, rank}, {words + 1 + rank, rank}};
    words += 1 + 2 * rank;
    return Datum(*element, datum);
  }
  const auto bits = static_cast<uint32_t>(*words++);
  if (element == Element::f32)
    return Datum(Element::f32, {}, std::vector<float>{std::bit_cast<float>(bits)});
  if (element == Element::i32 && mlir::isa<mlir::IntegerType>(argument.getType()))
    return Datum::scalar(Element::i32, static_cast<int32_t>(bits));
  return errorAt(*kernel, "has argument " + llvm::Twine(argument.getArgNumber()) +
                              " that is neither a view nor an f32 or i32 scalar");
}

} // namespace

llvm::Error sectile::interpret(const TracedKernel &traced, const int64_t *arguments, int32_t x, int32_t y, int32_t z) {
  for (ir::KernelOp kernel : traced.module().getOps<ir::KernelOp>()) {
    Frame frame({x, y, z});
    for (mlir::BlockArgument argument : kernel.getBody().getArguments()) {
      llvm::Expected<Datum> datum = bind(kernel, argument, arguments);
      if (!datum)
        return datum.takeError();
      frame.set(argument, std::move(*datum));
    }
    for (mlir::Operation &op : kernel.getBody().front())
      if (llvm::Error error = execute(op, frame))
        return error;
    return llvm::Error::success();
  }
  return userError("the module of kernel '" + traced.name() + "' holds no tile.kernel");
}
