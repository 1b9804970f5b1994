// Registration of the block dialect; its attribute and type in text.
#include "compiler/ir/Block.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FoldInterfaces.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace sectile::ir;

#include "compiler/ir/BlockDialect.cpp.inc"
#include "compiler/ir/BlockEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "compiler/ir/BlockAttributes.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "compiler/ir/BlockTypes.cpp.inc"
#define GET_OP_CLASSES
#include "compiler/ir/BlockOps.cpp.inc"

namespace {
/// A role has its own constants: what all warps hold it does not see.
struct ConstantsOfRoles : DialectFoldInterface {
  using DialectFoldInterface::DialectFoldInterface;
  bool shouldMaterializeInto(Region *region) const final { return isa<SpecializeOp>(region->getParentOp()); }
};
} // namespace

void BlockDialect::initialize() {
  addInterfaces<ConstantsOfRoles>();
  addOperations<
#define GET_OP_LIST
#include "compiler/ir/BlockOps.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "compiler/ir/BlockAttributes.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "compiler/ir/BlockTypes.cpp.inc"
      >();
}

void sectile::ir::registerBlockDialect(DialectRegistry &registry) { registry.insert<BlockDialect>(); }

//===-- layout attribute ------------------------------------------------------------------------------------------===//

using Bases = SmallVector<Coordinates>;

static SmallVector<int64_t> flatten(Layout::Bases bases) {
  SmallVector<int64_t> flat;
  for (const Coordinates &basis : bases)
    flat.append(basis.begin(), basis.end());
  return flat;
}

static Bases unflatten(ArrayRef<int64_t> flat, int64_t rank) {
  Bases bases;
  for (; !flat.empty(); flat = flat.drop_front(rank))
    bases.emplace_back(flat.begin(), flat.begin() + rank);
  return bases;
}

LayoutAttr LayoutAttr::get(MLIRContext *context, const Layout &layout) {
  return Base::get(context, static_cast<int64_t>(layout.rank()), flatten(layout.registerBits()),
                   flatten(layout.laneBits()), flatten(layout.warpBits()));
}

Layout LayoutAttr::over(ArrayRef<int64_t> shape) const {
  return {unflatten(getRegisters(), getRank()), unflatten(getLanes(), getRank()), unflatten(getWarps(), getRank()),
          shape};
}

LogicalResult LayoutAttr::verifyEncoding(ArrayRef<int64_t> shape, Type,
                                         function_ref<InFlightDiagnostic()> emitError) const {
  if (static_cast<int64_t>(shape.size()) != getRank())
    return emitError() << "a layout of rank " << getRank() << " is not one of a tensor of rank " << shape.size();
  if (auto wrong = Layout::verify(unflatten(getRegisters(), getRank()), unflatten(getLanes(), getRank()),
                                  unflatten(getWarps(), getRank()), shape))
    return emitError() << "layout: " << *wrong;
  return success();
}

OpAsmAliasResult LayoutAttr::getAlias(raw_ostream &os) const {
  os << "layout";
  return OpAsmAliasResult::OverridableAlias;
}

// name = [[0, 1], [8, 0]]
static ParseResult parseBases(AsmParser &parser, StringRef name, Bases &bases) {
  auto coordinate = [&] { return parser.parseInteger(bases.back().emplace_back()); };
  auto basis = [&] {
    bases.emplace_back();
    return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, coordinate);
  };
  return failure(parser.parseKeyword(name) || parser.parseEqual() ||
                 parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, basis));
}

Attribute LayoutAttr::parse(AsmParser &parser, Type) {
  Bases registers, lanes, warps;
  SMLoc start = parser.getCurrentLocation();
  if (parser.parseLess() || parseBases(parser, "register", registers) || parser.parseComma() ||
      parseBases(parser, "lane", lanes) || parser.parseComma() || parseBases(parser, "warp", warps) ||
      parser.parseGreater())
    return {};
  const size_t rank = lanes.empty() ? 0 : lanes.front().size();
  for (const Bases *bases : {&registers, &lanes, &warps})
    for (const Coordinates &basis : *bases)
      if (basis.size() != rank || rank == 0) {
        parser.emitError(start, "the bases of a layout have one coordinate for each dimension, got ")
            << basis.size() << " and " << rank;
        return {};
      }
  if (lanes.size() != 5 && lanes.size() != 6) {
    parser.emitError(start, "a layout has 5 or 6 bases of lanes, got ") << lanes.size();
    return {};
  }
  return Base::get(parser.getContext(), static_cast<int64_t>(rank), flatten(registers), flatten(lanes), flatten(warps));
}

static void printBases(AsmPrinter &printer, StringRef name, ArrayRef<int64_t> flat, int64_t rank) {
  printer << name << " = [";
  llvm::interleaveComma(unflatten(flat, rank), printer, [&](const Coordinates &basis) {
    printer << "[";
    llvm::interleaveComma(basis, printer);
    printer << "]";
  });
  printer << "]";
}

void LayoutAttr::print(AsmPrinter &printer) const {
  printer << "<";
  printBases(printer, "register", getRegisters(), getRank());
  printBases(printer, ", lane", getLanes(), getRank());
  printBases(printer, ", warp", getWarps(), getRank());
  printer << ">";
}

//===-- shared type -----------------------------------------------------------------------------------------------===//

SharedType SharedType::get(ArrayRef<int64_t> shape, Type elementType, const Swizzle &swizzle) {
  const int64_t bytes = (elementType.getIntOrFloatBitWidth() + 7) / 8;
  return Base::get(elementType.getContext(), shape, elementType, swizzle.step, swizzle.span, swizzle.unit,
                   swizzle.rowBytes / bytes);
}

Swizzle SharedType::swizzle() const { return {getPanel() * elementBytes(), getStep(), getSpan(), getUnit()}; }

std::optional<int64_t> SharedType::hardwareSwizzle() const {
  if (getSpan() == 1)
    return 0;
  for (int64_t bytes : {128, 64, 32})
    if (swizzle() == Swizzle{bytes, 128 / bytes, bytes / 16})
      return bytes;
  return {};
}

SharedType SharedType::stage() const { return get(getShape().take_back(2), getElementType(), swizzle()); }

SharedType SharedType::ring(int64_t stages) const {
  return get({stages, getRows(), getColumns()}, getElementType(), swizzle());
}

// !block.shared<3x64x128xbf16, step = 1, span = 8, unit = 16, panel = 64>
Type SharedType::parse(AsmParser &parser) {
  SmallVector<int64_t> shape;
  Type element;
  int64_t step = 1, span = 1, unit = 16, panel = 0;
  bool hasPanel = false;
  if (parser.parseLess() || parser.parseDimensionList(shape, /*allowDynamic=*/false) || parser.parseType(element))
    return {};
  while (succeeded(parser.parseOptionalComma())) {
    StringRef name;
    SMLoc at = parser.getCurrentLocation();
    if (parser.parseKeyword(&name) || parser.parseEqual())
      return {};
    int64_t *number = llvm::StringSwitch<int64_t *>(name)
                          .Case("step", &step)
                          .Case("span", &span)
                          .Case("unit", &unit)
                          .Case("panel", &panel)
                          .Default(nullptr);
    if (!number) {
      parser.emitError(at, "a shared buffer has step, span, unit and panel, got ") << name;
      return {};
    }
    hasPanel |= number == &panel;
    if (parser.parseInteger(*number))
      return {};
  }
  if (parser.parseGreater())
    return {};
  if (!hasPanel && !shape.empty())
    panel = shape.back();
  return parser.getChecked<SharedType>(parser.getContext(), shape, element, step, span, unit, panel);
}

void SharedType::print(AsmPrinter &printer) const {
  printer << "<";
  printer.printDimensionList(getShape());
  printer << "x" << getElementType();
  if (getStep() != 1 || getSpan() != 1 || getUnit() != 16)
    printer << ", step = " << getStep() << ", span = " << getSpan();
  if (getUnit() != 16)
    printer << ", unit = " << getUnit();
  if (hasPanels())
    printer << ", panel = " << getPanel();
  printer << ">";
}

LogicalResult SharedType::verify(function_ref<InFlightDiagnostic()> emitError, ArrayRef<int64_t> shape, Type element,
                                 int64_t step, int64_t span, int64_t unit, int64_t panel) {
  if (shape.size() != 2 && shape.size() != 3)
    return emitError() << "a shared buffer has rows and columns, or stages, rows and columns, got rank "
                       << shape.size();
  if (!isTileShape(shape))
    return emitError() << "the sizes of a shared buffer are from 1 on, at most 2^24 elements, got [" << shape << "]";
  if (!isa<Float32Type, Float16Type, BFloat16Type, Float8E4M3FNType, Float8E5M2Type>(element) &&
      !element.isInteger(32) && !element.isInteger(1))
    return emitError() << "a shared buffer holds f32, f16, bf16, f8E4M3FN, f8E5M2, i32 or i1, got " << element;
  if (panel < 1 || shape.back() % panel != 0)
    return emitError() << "the " << shape.back() << " columns of a shared buffer are whole panels, got panels of "
                       << panel;
  const int64_t bytes = (element.getIntOrFloatBitWidth() + 7) / 8;
  if (auto wrong = Swizzle{panel * bytes, step, span, unit}.verify())
    return emitError() << "shared buffer: " << *wrong;
  return success();
}
