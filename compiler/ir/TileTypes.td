// The tile dialect and its types, which the block dialect shares.
#ifndef SECTILE_IR_TILETYPES_TD
#define SECTILE_IR_TILETYPES_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/CommonTypeConstraints.td"
include "mlir/IR/CommonAttrConstraints.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/CallInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Tile_Dialect : Dialect {
  let name = "tile";
  let cppNamespace = "::sectile::ir";
  let summary = "What a kernel computes, on immutable tiles";
  let useDefaultTypePrinterParser = 1;
  let dependentDialects = ["::mlir::arith::ArithDialect"];
  let hasConstantMaterializer = 1;
}

//===-- types -------------------------------------------------------------------------------------------------------===//

def Tile_Element : AnyTypeOf<[F32, F16, BF16, F8E4M3FN, F8E5M2, I32, I1], "tile element type">;
def Tile_Tensor : RankedTensorOf<[F32, F16, BF16, F8E4M3FN, F8E5M2, I32, I1],
    [CPred<"::sectile::ir::isTileShape(::llvm::cast<::mlir::ShapedType>($_self).getShape())">],
    "tile (rank and sizes from 1 on, at most 2^24 elements)">;
def Tile_ScalarOrTensor : AnyTypeOf<[F32, F16, BF16, F8E4M3FN, F8E5M2, I32, I1, Tile_Tensor], "scalar or tile">;
defvar Tile_Index = I32;

def Tile_ViewType : TypeDef<Tile_Dialect, "View"> {
  let mnemonic = "view";
  let summary = "an array in memory with run-time sizes and strides";
  let description = [{
    `!tile.view<4xbf16>`: base address, four sizes and four strides in elements. Sizes and indices are i32; strides and
    element offsets are 64-bit: every lowering extends an index to i64 before it multiplies it with a stride.
  }];
  let parameters = (ins "int64_t":$rank, "::mlir::Type":$elementType);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

#endif // SECTILE_IR_TILETYPES_TD
