// The kernel and its program index: syntax and verifiers.
#include "compiler/ir/Tile.h"

#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionImplementation.h"

using namespace mlir;
using namespace sectile::ir;

//===-- kernel --------------------------------------------------------------------------------------------------===//

void KernelOp::build(OpBuilder &builder, OperationState &state, StringRef name, FunctionType type) {
  state.addAttribute(SymbolTable::getSymbolAttrName(), builder.getStringAttr(name));
  state.addAttribute(getFunctionTypeAttrName(state.name), TypeAttr::get(type));
  Region *body = state.addRegion();
  Block &block = body->emplaceBlock();
  for (Type argument : type.getInputs())
    block.addArgument(argument, state.location);
}

ParseResult KernelOp::parse(OpAsmParser &parser, OperationState &result) {
  auto build = [](Builder &b, ArrayRef<Type> arguments, ArrayRef<Type> results, function_interface_impl::VariadicFlag,
                  std::string &) { return b.getFunctionType(arguments, results); };
  return function_interface_impl::parseFunctionOp(parser, result, /*allowVariadic=*/false,
                                                  getFunctionTypeAttrName(result.name), build,
                                                  getArgAttrsAttrName(result.name), getResAttrsAttrName(result.name));
}

void KernelOp::print(OpAsmPrinter &printer) {
  function_interface_impl::printFunctionOp(printer, *this, /*isVariadic=*/false, getFunctionTypeAttrName(),
                                           getArgAttrsAttrName(), getResAttrsAttrName());
}

/// One argument attribute of ours; attributes of other dialects are theirs to check.
static LogicalResult verifyArgumentAttribute(FunctionOpInterface kernel, unsigned index, NamedAttribute attribute) {
  StringRef name = attribute.getName();
  if (!name.starts_with("tile."))
    return success();
  const bool isView = isa<ViewType>(kernel.getArgumentTypes()[index]);
  auto error = [&] { return kernel->emitOpError() << "argument " << index << ": "; };

  if (name == "tile.name") {
    auto text = dyn_cast<StringAttr>(attribute.getValue());
    if (!text || text.empty())
      return error() << "tile.name is a non-empty string, got " << attribute.getValue();
    for (unsigned other = 0; other < index; ++other)
      if (kernel.getArgAttr(other, name) == text)
        return error() << "tile.name " << text << " is also the name of argument " << other;
    return success();
  }
  if (name == "tile.access") {
    auto text = dyn_cast<StringAttr>(attribute.getValue());
    if (!isView && (!text || text != "scalar"))
      return error() << "tile.access of a scalar is \"scalar\", got " << attribute.getValue();
    if (isView && (!text || !llvm::is_contained({"input", "output", "inout"}, text.getValue())))
      return error() << "tile.access of a view is \"input\", \"output\" or \"inout\", got " << attribute.getValue();
    return success();
  }
  if (name == "tile.unit_stride" || name == "tile.aligned16") {
    if (!isView || !isa<UnitAttr>(attribute.getValue()))
      return error() << name << " is a unit attribute of views";
    return success();
  }
  if (name == "tile.bulk") {
    auto view = dyn_cast<ViewType>(kernel.getArgumentTypes()[index]);
    if (!view || view.getRank() < 2 || view.getRank() > 5 || !isa<UnitAttr>(attribute.getValue()))
      return error() << name << " is a unit attribute of views of rank 2 to 5";
    return success();
  }
  return error() << "knows tile.name, tile.access, tile.unit_stride, tile.aligned16 and tile.bulk, got " << name;
}

LogicalResult sectile::ir::verifyKernelArguments(FunctionOpInterface kernel) {
  if (!kernel.getResultTypes().empty())
    return kernel->emitOpError("returns nothing, got ") << kernel.getResultTypes();
  for (auto [index, type] : llvm::enumerate(kernel.getArgumentTypes())) {
    if (!isa<ViewType, Float32Type>(type) && !type.isSignlessInteger(32))
      return kernel->emitOpError("takes views, f32 and i32, got ") << type << " as argument " << index;
    for (NamedAttribute attribute : kernel.getArgAttrs(index))
      if (failed(verifyArgumentAttribute(kernel, index, attribute)))
        return failure();
  }
  return success();
}

LogicalResult KernelOp::verify() {
  if (!isa<ReturnOp>(getBody().front().back()))
    return emitOpError("ends with tile.return");
  return verifyKernelArguments(*this);
}

//===-- program -------------------------------------------------------------------------------------------------===//

LogicalResult ProgramOp::verify() {
  if (getAxis() > 2)
    return emitOpError("needs a grid axis from 0 to 2, got ") << static_cast<int32_t>(getAxis());
  return success();
}
