// Registration of the dialect, its types and what is generated from Tile.td.
#include "compiler/ir/Tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace sectile::ir;

#include "compiler/ir/TileDialect.cpp.inc"
#include "compiler/ir/TileEnums.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "compiler/ir/TileTypes.cpp.inc"
#define GET_OP_CLASSES
#include "compiler/ir/TileOps.cpp.inc"

bool sectile::ir::isTileShape(ArrayRef<int64_t> shape) {
  int64_t elements = 1;
  for (int64_t size : shape) {
    if (size < 1 || size > maxTileElements / elements) // also dynamic sizes, which are negative
      return false;
    elements *= size;
  }
  return !shape.empty();
}

void TileDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "compiler/ir/TileOps.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "compiler/ir/TileTypes.cpp.inc"
      >();
}

Operation *TileDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type, Location loc) {
  return arith::ConstantOp::materialize(builder, value, type, loc);
}

void sectile::ir::registerTileDialects(DialectRegistry &registry) {
  registry.insert<TileDialect, arith::ArithDialect, math::MathDialect, scf::SCFDialect>();
}

// !tile.view<4xbf16>
Type ViewType::parse(AsmParser &parser) {
  SmallVector<int64_t> dims;
  Type element;
  if (parser.parseLess() || parser.parseDimensionList(dims, /*allowDynamic=*/false) || parser.parseType(element) ||
      parser.parseGreater())
    return {};
  if (dims.size() != 1) {
    parser.emitError(parser.getNameLoc(), "expected one rank, as in !tile.view<4xbf16>");
    return {};
  }
  return parser.getChecked<ViewType>(parser.getContext(), dims[0], element);
}

void ViewType::print(AsmPrinter &printer) const { printer << "<" << getRank() << "x" << getElementType() << ">"; }

LogicalResult ViewType::verify(function_ref<InFlightDiagnostic()> emitError, int64_t rank, Type element) {
  if (rank < 1 || rank > 6)
    return emitError() << "a view has rank 1 to 6, got " << rank;
  if (!isa<Float32Type, Float16Type, BFloat16Type, Float8E4M3FNType, Float8E5M2Type>(element) &&
      !element.isInteger(32) && !element.isInteger(1))
    return emitError() << "a view holds f32, f16, bf16, f8E4M3FN, f8E5M2, i32 or i1, got " << element;
  return success();
}
