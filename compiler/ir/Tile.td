// The tile dialect: what a kernel computes. Values are immutable tensors of static shape and scalars; arithmetic
// is arith and math on them, control flow is scf. The interpreter (compiler/interpret) defines every operation.
#ifndef SECTILE_IR_TILE_TD
#define SECTILE_IR_TILE_TD

include "compiler/ir/TileTypes.td"

//===-- kernel ------------------------------------------------------------------------------------------------------===//

class Tile_Op<string mnemonic, list<Trait> traits = []> : Op<Tile_Dialect, mnemonic, traits>;

def Tile_KernelOp : Tile_Op<"kernel", [IsolatedFromAbove, FunctionOpInterface, OpAsmOpInterface, SingleBlock]> {
  let summary = "a kernel: the program of one point of the grid";
  let description = [{
    Arguments are views and f32/i32 scalars; there are no results. Argument attributes: `tile.name` (string, unique),
    `tile.access` ("input", "output", "inout" for views, "scalar" for scalars); facts that a launch guarantees:
    `tile.unit_stride` (the last dimension's stride is 1, or its size at most 1), `tile.aligned16` (the address, all
    strides but the last and the size of the last dimension are multiples of 16 bytes, strides of dimensions with size
    at most 1 aside), `tile.bulk` (TMA can map the view: both of them, rank 2 to 5, all sizes at least 1 and below 2^32,
    strides of dimensions with size above 1 positive and below 2^40 bytes).

    Example:
    ```mlir
    tile.kernel @copy(%x: !tile.view<1xf32>, %y: !tile.view<1xf32>) {
      %p = tile.program 0
      %c64 = arith.constant 64 : i32
      %i = arith.muli %p, %c64 : i32
      %t = tile.load %x[%i] : !tile.view<1xf32> -> tensor<64xf32>
      tile.store %t, %y[%i] : tensor<64xf32>, !tile.view<1xf32>
      tile.return
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<FunctionType>:$function_type,
                   OptionalAttr<DictArrayAttr>:$arg_attrs, OptionalAttr<DictArrayAttr>:$res_attrs);
  let regions = (region SizedRegion<1>:$body);
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name, "::mlir::FunctionType":$type)>];
  let extraClassDeclaration = [{
    ::mlir::ArrayRef<::mlir::Type> getArgumentTypes() { return getFunctionType().getInputs(); }
    ::mlir::ArrayRef<::mlir::Type> getResultTypes() { return getFunctionType().getResults(); }
    ::mlir::Region *getCallableRegion() { return &getBody(); }
  }];
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Tile_ReturnOp : Tile_Op<"return", [Pure, Terminator, HasParent<"KernelOp">]> {
  let summary = "the end of a kernel";
  let description = [{
    Example: `tile.return`
  }];
  let assemblyFormat = "attr-dict";
}

def Tile_ProgramOp : Tile_Op<"program", [Pure]> {
  let summary = "the index of this program along a grid axis (0, 1 or 2)";
  let description = [{
    From 0 to the grid's size less one. Programs run in any order, also at the same time.

    Example: `%row = tile.program 0`
  }];
  let arguments = (ins I32Attr:$axis);
  let results = (outs Tile_Index:$result);
  let assemblyFormat = "$axis attr-dict";
  let builders = [OpBuilder<(ins "int32_t":$axis), [{
    build($_builder, $_state, $_builder.getI32Type(), axis);
  }]>];
  let hasVerifier = 1;
}

//===-- memory ------------------------------------------------------------------------------------------------------===//

def Tile_DimOp : Tile_Op<"dim", [Pure]> {
  let summary = "the size of a view's dimension";
  let description = [{
    Example: `%keys = tile.dim %k, 2 : !tile.view<4xf32>`
  }];
  let arguments = (ins Tile_ViewType:$view, I32Attr:$axis);
  let results = (outs Tile_Index:$result);
  let assemblyFormat = "$view `,` $axis attr-dict `:` type($view)";
  let hasVerifier = 1;
}

def Tile_LoadOp : Tile_Op<"load", [MemoryEffects<[MemRead]>]> {
  let summary = "reads a tile from a view";
  let description = [{
    One index a dimension, in elements. A result of rank r covers the last r dimensions, starting at the indices;
    the leading dimensions are indexed only. Elements outside the view (before 0 or past the size, in any dimension)
    read as `padding` (default 0, of the view's element type) and touch no memory.

    Example: `%t = tile.load %k[%b, %h, %j, %c0] pad 1.0 : f32 : !tile.view<4xf32> -> tensor<64x128xf32>`
  }];
  let arguments = (ins Tile_ViewType:$view, Variadic<Tile_Index>:$indices, OptionalAttr<TypedAttrInterface>:$padding);
  let results = (outs Tile_Tensor:$result);
  let assemblyFormat = "$view `[` $indices `]` (`pad` $padding^)? attr-dict `:` type($view) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_StoreOp : Tile_Op<"store", [MemoryEffects<[MemWrite]>]> {
  let summary = "writes a tile to a view; elements outside the view are dropped";
  let description = [{
    Indices and ranks as in `tile.load`. Two programs that write one element without `tile.atomic_add` race.

    Example: `tile.store %t, %o[%b, %h, %i, %c0] : tensor<64x128xf32>, !tile.view<4xf32>`
  }];
  let arguments = (ins Tile_Tensor:$value, Tile_ViewType:$view, Variadic<Tile_Index>:$indices);
  let assemblyFormat = "$value `,` $view `[` $indices `]` attr-dict `:` type($value) `,` type($view)";
  let hasVerifier = 1;
}

def Tile_AtomicAddOp : Tile_Op<"atomic_add", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "adds a tile (f32 or i32) to a view, each element atomically; elements outside are dropped";
  let description = [{
    Example: `tile.atomic_add %t, %sum[%i] : tensor<64xf32>, !tile.view<1xf32>`
  }];
  let arguments = (ins Tile_Tensor:$value, Tile_ViewType:$view, Variadic<Tile_Index>:$indices);
  let assemblyFormat = "$value `,` $view `[` $indices `]` attr-dict `:` type($value) `,` type($view)";
  let hasVerifier = 1;
}

//===-- shape -------------------------------------------------------------------------------------------------------===//

def Tile_IotaOp : Tile_Op<"iota", [Pure]> {
  let summary = "0, 1, …, n-1";
  let description = [{
    Example: `%columns = tile.iota : tensor<64xi32>`
  }];
  let results = (outs Tile_Tensor:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Tile_SplatOp : Tile_Op<"splat", [Pure, TypesMatchWith<"the scalar has the tile's element type", "result", "value",
    "::llvm::cast<::mlir::TensorType>($_self).getElementType()">]> {
  let summary = "a tile filled with a scalar";
  let description = [{
    Example: `%t = tile.splat %scale : tensor<64x128xf32>`
  }];
  let arguments = (ins Tile_Element:$value);
  let results = (outs Tile_Tensor:$result);
  let assemblyFormat = "$value attr-dict `:` type($result)";
  let hasFolder = 1;
}

def Tile_ExtractOp : Tile_Op<"extract", [Pure, TypesMatchWith<"the scalar has the tile's element type", "source",
    "result", "::llvm::cast<::mlir::TensorType>($_self).getElementType()">]> {
  let summary = "the only element of a tile of size 1, as a scalar";
  let description = [{
    The inverse of `tile.splat`. Scalars are read from memory as a tile of one element, then extracted.

    Example: `%length = tile.extract %t : tensor<1xi32>`
  }];
  let arguments = (ins Tile_Tensor:$source);
  let results = (outs Tile_Element:$result);
  let assemblyFormat = "$source attr-dict `:` type($source)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Tile_BroadcastOp : Tile_Op<"broadcast", [Pure]> {
  let summary = "stretches dimensions of size 1";
  let description = [{
    Operand and result have one rank; each operand dimension equals the result's or is 1.

    Example: `%t = tile.broadcast %max : tensor<64x1xf32> -> tensor<64x128xf32>`
  }];
  let arguments = (ins Tile_Tensor:$source);
  let results = (outs Tile_Tensor:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizeMethod = 1;
}

def Tile_ReshapeOp : Tile_Op<"reshape", [Pure]> {
  let summary = "the same elements in row-major order under another shape";
  let description = [{
    Example: `%column = tile.reshape %t : tensor<64xi32> -> tensor<64x1xi32>`
  }];
  let arguments = (ins Tile_Tensor:$source);
  let results = (outs Tile_Tensor:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizeMethod = 1;
}

def Tile_TransposeOp : Tile_Op<"transpose", [Pure]> {
  let summary = "permutes dimensions: result dimension i is source dimension order[i]";
  let description = [{
    Example: `%kt = tile.transpose %k [1, 0] : tensor<64x128xf32> -> tensor<128x64xf32>`
  }];
  let arguments = (ins Tile_Tensor:$source, DenseI64ArrayAttr:$order);
  let results = (outs Tile_Tensor:$result);
  let assemblyFormat = "$source $order attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizeMethod = 1;
}

//===-- compute -----------------------------------------------------------------------------------------------------===//

def Tile_ReduceKind : I32EnumAttr<"ReduceKind", "how elements are combined", [
  I32EnumAttrCase<"max", 0>, I32EnumAttrCase<"min", 1>, I32EnumAttrCase<"sum", 2>]> {
  let cppNamespace = "::sectile::ir";
}

def Tile_ReduceOp : Tile_Op<"reduce", [Pure]> {
  let summary = "combines the elements along an axis, which keeps size 1";
  let description = [{
    `max` and `min` pass over NaN; when all are NaN, max gives -infinity and min +infinity. `sum` adds in any order; f16
    and bf16 accumulate in f32 and round once; i32 wraps around. f32, f16, bf16 and i32.

    With `parts` the axis keeps that size instead: the elements are dealt out, each to one part, and each part is
    combined for itself; one without elements is 0, -infinity or +infinity (i32: 0, the least or the largest). How they
    are dealt out is the target's affair: threads that hold parts of a line need not meet to add up what is summed in a
    loop. In the interpreter, part p takes the elements p, p + parts, p + 2 parts, …

    Examples:
    `%m = tile.reduce max %s axis 1 : tensor<64x128xf32> -> tensor<64x1xf32>`
    `%l = tile.reduce sum %p axis 1 parts 4 : tensor<64x128xf32> -> tensor<64x4xf32>`
  }];
  let arguments = (ins Tile_ReduceKind:$kind, Tile_Tensor:$source, I32Attr:$axis,
                       DefaultValuedAttr<I32Attr, "1">:$parts);
  let results = (outs Tile_Tensor:$result);
  let assemblyFormat = "$kind $source `axis` $axis (`parts` $parts^)? attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Tile_AnyOp : Tile_Op<"any", [Pure]> {
  let summary = "whether an element is true, as far as it concerns who asks";
  let description = [{
    True when an element is true that the asking warp holds; of elements that others hold it may tell or not. So a branch
    on it has to be right whatever the answer, and is needed only where the condition holds: it is a way to skip work.
    A warp may be alone in such a branch. Where one thread computes the whole tile, and in the interpreter, it is true
    when any element is.

    Example: `%need = tile.any %overflown : tensor<64x4xi1> -> i1`
  }];
  let arguments = (ins Tile_Tensor:$source);
  let results = (outs I1:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Tile_DotOp : Tile_Op<"dot", [Pure, AllTypesMatch<["accumulator", "result"]>]> {
  let summary = "matrix product plus accumulator: [m,k] x [k,n] + [m,n]";
  let description = [{
    Operands are floats of any type, also of two; products and sums are in f32, in any order and association. An operand
    that is a `tile.cast` from f32 to bf16 may be multiplied before it is rounded: a target without bf16 products gains
    nothing by rounding it.

    Example: `%r = tile.dot %p, %v, %acc : tensor<64x128xbf16>, tensor<128x64xbf16>, tensor<64x64xf32>`
  }];
  let arguments = (ins Tile_Tensor:$a, Tile_Tensor:$b, Tile_Tensor:$accumulator);
  let results = (outs Tile_Tensor:$result);
  let assemblyFormat = "$a `,` $b `,` $accumulator attr-dict `:` type($a) `,` type($b) `,` type($accumulator)";
  let hasVerifier = 1;
}

def Tile_CastOp : Tile_Op<"cast", [Pure]> {
  let summary = "converts elements to another type";
  let description = [{
    To a narrower float: to nearest even; f8 saturates to the largest finite value, NaN stays NaN. Float to i32: toward
    zero, saturating, NaN gives 0. i32 to float: to nearest even. i1: 0 or 1. To i1: `!= 0` (NaN is true).

    Example: `%p = tile.cast %s : tensor<64x128xf32> to tensor<64x128xbf16>`
  }];
  let arguments = (ins Tile_ScalarOrTensor:$source);
  let results = (outs Tile_ScalarOrTensor:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `to` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

#endif // SECTILE_IR_TILE_TD
