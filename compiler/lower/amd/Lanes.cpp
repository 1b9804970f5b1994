// What lanes of a wave hand to each other, by the cheapest instruction that can:
//
//     lane ^ mask               instruction
//     1, 2, 3                   DPP quad_perm: any order within four lanes, on the way into the next instruction
//     7, 15; 8                  DPP row_half_mirror, row_mirror; row_ror:8 (lanes in rows of 16)
//     below 16, RDNA            DPP row_xmask
//     16, RDNA                  v_permlanex16: the other row of 16
//     others below 32           ds_swizzle, through LDS's crossbar but not its memory
//     32, gfx950                v_permlane32_swap
//     any other                 ds_bpermute: the lane's number, in bytes
#include "compiler/lower/amd/AmdLowering.h"

using namespace mlir;
using namespace sectile::amd;
using namespace sectile::gpu;

namespace {

/// The control word of a DPP instruction that reads lane ^ mask, if there is one.
std::optional<int64_t> dppControl(int64_t mask, bool hasRowXmask) {
  if (mask < 4) { // two bits a lane: which of the four it reads
    int64_t order = 0;
    for (int64_t lane = 0; lane < 4; ++lane)
      order |= (lane ^ mask) << (2 * lane);
    return order;
  }
  constexpr int64_t rowMirror = 0x140, rowHalfMirror = 0x141, rowRotate = 0x120, rowXmask = 0x160;
  if (mask == 15)
    return rowMirror;
  if (mask == 7)
    return rowHalfMirror;
  if (mask == 8)
    return rowRotate + 8;
  if (mask < 16 && hasRowXmask)
    return rowXmask + mask;
  return std::nullopt;
}

} // namespace

Value AmdLowering::shuffleWordXor(Value word, int64_t mask) {
  Type type = code.i32Type();
  if (std::optional<int64_t> control = dppControl(mask, options.hasRowXmask)) {
    Value all = code.i32(15); // rows and banks
    return code.intrinsic("llvm.amdgcn.update.dpp", type,
                          {code.poison(type), word, code.i32(*control), all, all, code.truth(true)});
  }
  if (mask == 16 && options.hasRowXmask) {
    Value inOrderLow = code.i32(0x76543210), inOrderHigh = code.i32(static_cast<int32_t>(0xfedcba98));
    return code.intrinsic("llvm.amdgcn.permlanex16", type,
                          {code.poison(type), word, inOrderLow, inOrderHigh, code.truth(false), code.truth(false)});
  }
  if (mask < 32) {
    constexpr int64_t keepAll = 0x1f; // and; then come or, xor, five bits each
    return code.intrinsic("llvm.amdgcn.ds.swizzle", type, {word, code.i32(keepAll | mask << 10)});
  }
  if (mask == 32 && options.hasPermlane32Swap)
    return swapHalves(word);
  return shuffleWord(word, code.bitXor(lane, mask));
}

/// The instruction exchanges the upper half of its first operand with the lower half of its second: of one and the same
/// word the results are its lower half twice, and its upper half twice.
Value AmdLowering::swapHalves(Value word) {
  const Values halves = code.intrinsic("llvm.amdgcn.permlane32.swap", {code.i32Type(), code.i32Type()},
                                       {word, word, code.truth(false), code.truth(false)});
  return code.select(code.compare(arith::CmpIPredicate::ult, lane, 32), halves[1], halves[0]);
}

Value AmdLowering::shuffleWord(Value word, Value lane) {
  return code.intrinsic("llvm.amdgcn.ds.bpermute", code.i32Type(), {code.shiftLeft(lane, 2), word});
}

Value AmdLowering::anyLane(Value condition) {
  Type mask = code.builder.getIntegerType(static_cast<unsigned>(warpLanes));
  return code.compare(arith::CmpIPredicate::ne, code.intrinsic("llvm.amdgcn.ballot", mask, {condition}), 0);
}
