// block.convert: a tensor's elements go to the threads of another layout, by the shortest way there is.
#include "compiler/lower/nvidia/KernelLowering.h"

using namespace mlir;
using namespace sectile::nvidia;
using namespace sectile::ir;

LogicalResult KernelLowering::lower(ConvertOp op) {
  const Layout &from = layoutOf(op.getSource()), &to = layoutOf(op.getResult());
  const Values source = registers.lookup(op.getSource());
  Conversion way = conversion(from, to);
  if (way.kind != Conversion::Kind::shared) {
    registers[op.getResult()] = way.kind == Conversion::Kind::none ? source : shuffled(way, source);
    return success();
  }
  Value scratch = scratchOf(op);
  if (!scratch)
    return failure();
  registers[op.getResult()] = throughShared(from, to, source, scratch);
  return success();
}

/// Within warps. Every register of the result comes from one lane, though its number there may depend on the lane that
/// receives it: then several are fetched, and each lane takes its own.
KernelLowering::Values KernelLowering::shuffled(const Conversion &way, const Values &values) {
  std::map<std::pair<int64_t, int64_t>, Value> fetched; // by register and source lane of lane 0
  const SmallVector<int64_t> laneBases(way.laneBits.begin(), way.laneBits.end());
  const bool stays = laneBases == SmallVector<int64_t>{1, 2, 4, 8, 16};
  auto fetch = [&](int64_t reg, int64_t laneOfFirst) {
    if (stays && laneOfFirst == 0)
      return values[reg];
    Value &value = fetched[{reg, laneOfFirst}];
    if (!value) {
      Value part = gather(laneBases, {});
      Value sourceLane = part ? code.bitXor(part, laneOfFirst) : code.i32(laneOfFirst);
      value = code.shuffle(values[reg], sourceLane);
    }
    return value;
  };

  Values result;
  for (const Conversion::Move &move : way.moves) {
    if (move.sources.empty()) { // undefined: any number
      result.push_back(values.front());
      continue;
    }
    Value value = fetch(move.sources.front().reg, move.lane);
    for (const Conversion::Source &source : llvm::drop_begin(move.sources)) {
      Value receives =
          code.truncate(code.make<arith::ShRUIOp>(code.i32(static_cast<int32_t>(source.lanes)), lane), code.i1Type());
      value = code.select(receives, fetch(source.reg, move.lane), value);
    }
    result.push_back(value);
  }
  return result;
}

/// Where an element is in a copy of the tensor in row-major order.
Value KernelLowering::rowMajorAddress(Value start, const Layout &layout, ArrayRef<int64_t> base, int64_t bytes) {
  Value offset;
  int64_t constant = 0;
  for (size_t d = layout.rank(); d-- > 0;) {
    constant += base[d] * bytes;
    if (Value part = threadPart(layout, d)) {
      Value scaled = code.mul(part, bytes);
      offset = offset ? code.add(offset, scaled) : scaled;
    }
    bytes *= layout.shape()[d];
  }
  return code.address(start, offset, constant);
}

/// Vectors of up to 16 bytes that both the layout and the rows are made of.
static int64_t vectorInRows(const Layout &layout, int64_t bytes) {
  int64_t vector = std::min(layout.vectorWidth(), 16 / bytes);
  while (layout.shape().back() % vector != 0)
    vector /= 2;
  return vector;
}

/// Between warps: written in row-major order, and read back under the other shape. Elements past a shape stay out.
KernelLowering::Values KernelLowering::throughShared(const Layout &from, const Layout &to, const Values &values,
                                                     Value scratch) {
  Type held = values.front().getType();
  const int64_t bytes = memoryBits(held) / 8;

  code.barrier(); // others may still read what was there
  const int64_t writeVector = vectorInRows(from, bytes);
  for (int64_t reg = 0; reg < from.registers(); reg += writeVector) {
    if (from.presence(reg) == Layout::Presence::none)
      continue;
    auto write = [&] {
      storeVector(ArrayRef<Value>(values).slice(reg, writeVector),
                  rowMajorAddress(scratch, from, from.base(reg), bytes));
    };
    if (Value present = insideShape(from, reg))
      code.when(present, write);
    else
      write();
  }

  code.barrier();
  const int64_t readVector = vectorInRows(to, bytes);
  Values result;
  for (int64_t reg = 0; reg < to.registers(); reg += readVector) {
    if (to.presence(reg) == Layout::Presence::none) {
      result.append(readVector, values.front());
      continue;
    }
    Value address = rowMajorAddress(scratch, to, to.base(reg), bytes);
    if (Value present = insideShape(to, reg))
      address = code.select(present, address, scratch);
    llvm::append_range(result, loadVector(held, readVector, address));
  }
  return result;
}

//===-- elements in memory --------------------------------------------------------------------------------------===//

/// An i1 is a byte there.
KernelLowering::Values KernelLowering::loadVector(Type held, int64_t count, Value address) {
  Type stored = held.isInteger(1) ? code.i8Type() : held;
  Value whole = code.load(count == 1 ? stored : code.vectorOf(count, stored), address, count * memoryBits(held) / 8);
  Values elements = code.unpack(whole, stored);
  if (held.isInteger(1))
    for (Value &element : elements)
      element = code.compare(arith::CmpIPredicate::ne, element, 0);
  return elements;
}

void KernelLowering::storeVector(ArrayRef<Value> elements, Value address) {
  Values stored(elements);
  Type held = stored.front().getType();
  const int64_t count = stored.size();
  if (held.isInteger(1))
    for (Value &element : stored)
      element = code.zeroExtend(element, code.i8Type());
  Value whole = count == 1 ? stored.front() : code.pack(stored, code.vectorOf(count, stored.front().getType()));
  code.store(whole, address, count * memoryBits(held) / 8);
}
