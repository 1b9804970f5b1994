// block.convert: a tensor's elements go to the threads of another layout, by the shortest way there is.
#include "compiler/lower/gpu/KernelLowering.h"

using namespace mlir;
using namespace sectile::gpu;
using namespace sectile::ir;

/// The layout of words of 32 bits, when neighbours along the last dimension share registers in whole words.
static std::optional<Layout> layoutOfWords(const Layout &layout, int64_t elements) {
  const size_t last = layout.rank() - 1;
  if (layout.vectorWidth() < elements || layout.atomSize(last) < elements || layout.shape()[last] % elements != 0)
    return {};
  auto inWords = [&](Layout::Bases bases) {
    return llvm::map_to_vector(bases, [&](Coordinates basis) {
      basis[last] /= elements;
      return basis;
    });
  };
  SmallVector<int64_t> shape(layout.shape());
  shape[last] /= elements;
  const auto within = static_cast<size_t>(llvm::Log2_64(static_cast<uint64_t>(elements)));
  return Layout(inWords(layout.registerBits().drop_front(within)), inWords(layout.laneBits()),
                inWords(layout.warpBits()), shape);
}

LogicalResult KernelLowering::lower(ConvertOp op) {
  const Layout &from = layoutOf(op.getSource()), &to = layoutOf(op.getResult());
  const Values source = registers.lookup(op.getSource());
  Conversion way = conversion(from, to);
  if (way.kind != Conversion::Kind::shared) {
    registers[op.getResult()] = way.kind == Conversion::Kind::none      ? source
                                : way.kind == Conversion::Kind::shuffle ? acrossLanes(from, to, way, source)
                                                                        : shuffled(way, source);
    return success();
  }
  Value scratch = scratchOf(op);
  if (!scratch)
    return failure();
  registers[op.getResult()] = throughShared(from, to, source, scratch);
  return success();
}

/// Elements of 8 and 16 bits go several at a time where both layouts keep them together.
KernelLowering::Values KernelLowering::acrossLanes(const Layout &from, const Layout &to, const Conversion &way,
                                                   const Values &values) {
  Type held = values.front().getType();
  const int64_t elements = held.isInteger(1) ? 1 : 32 / held.getIntOrFloatBitWidth();
  if (elements == 1)
    return shuffled(way, values);
  std::optional<Layout> fromWords = layoutOfWords(from, elements), toWords = layoutOfWords(to, elements);
  if (!fromWords || !toWords)
    return shuffled(way, values);
  Values words, result;
  for (size_t i = 0; i < values.size(); i += elements)
    words.push_back(code.pack(ArrayRef<Value>(values).slice(i, elements), code.i32Type()));
  for (Value word : shuffled(conversion(*fromWords, *toWords), words))
    llvm::append_range(result, code.unpack(word, held));
  return result;
}

/// Whether each bit of a lane's number stays what it is.
static bool isIdentity(ArrayRef<int64_t> laneBases) {
  return llvm::all_of(llvm::enumerate(laneBases),
                      [](auto basis) { return basis.value() == int64_t{1} << basis.index(); });
}

/// Within warps. Every register of the result comes from one lane, though its number there may depend on the lane that
/// receives it: then the registers are exchanged, or several are fetched, and each lane takes its own.
KernelLowering::Values KernelLowering::shuffled(const Conversion &way, const Values &values) {
  if (way.exchange)
    return exchanged(way, values);
  std::map<std::pair<int64_t, int64_t>, Value> fetched; // by register and source lane of lane 0
  const SmallVector<int64_t> laneBases(way.laneBits.begin(), way.laneBits.end());
  const bool stays = isIdentity(laneBases);
  auto fetch = [&](int64_t reg, int64_t laneOfFirst) {
    if (stays && laneOfFirst == 0)
      return values[reg];
    Value &value = fetched[{reg, laneOfFirst}];
    if (!value) {
      Value part = gather(laneBases, {});
      Value sourceLane = part ? code.bitXor(part, laneOfFirst) : code.i32(laneOfFirst);
      value = shuffle(values[reg], sourceLane);
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
      Type mask = code.builder.getIntegerType(static_cast<unsigned>(warpLanes)); // a bit a lane
      Value own = warpLanes > 32 ? code.zeroExtend(lane, mask) : lane;
      Value receives = code.truncate(
          code.make<arith::ShRUIOp>(code.integer(mask, static_cast<int64_t>(source.lanes)), own), code.i1Type());
      value = code.select(receives, fetch(source.reg, move.lane), value);
    }
    result.push_back(value);
  }
  return result;
}

/// One shuffle a register: LayoutConversion.h has an example.
KernelLowering::Values KernelLowering::exchanged(const Conversion &way, const Values &values) {
  const Conversion::Exchange &exchange = *way.exchange;
  Values held = llvm::map_to_vector(exchange.start, [&](int64_t reg) { return values[std::max<int64_t>(reg, 0)]; });
  auto swap = [&](ArrayRef<Conversion::Exchange::Swap> swaps) {
    for (const auto &[bit, pairs] : swaps) {
      Value isSet = code.truncate(code.make<arith::ShRUIOp>(lane, code.i32(static_cast<int32_t>(bit))), code.i1Type());
      for (const auto &[a, b] : pairs) {
        Value first = code.select(isSet, held[b], held[a]);
        held[b] = code.select(isSet, held[a], held[b]);
        held[a] = first;
      }
    }
  };

  swap(exchange.before);
  const SmallVector<int64_t> laneBases(exchange.laneBits.begin(), exchange.laneBits.end());
  const bool stays = isIdentity(laneBases);
  std::map<int64_t, Value> sourceLanes;
  for (auto [value, move] : llvm::zip(held, way.moves)) {
    if (stays && move.lane == 0)
      continue;
    Value &source = sourceLanes[move.lane];
    if (!source) {
      Value part = gather(laneBases, {});
      source = part ? code.bitXor(part, move.lane) : code.i32(static_cast<int32_t>(move.lane));
    }
    value = shuffle(value, source);
  }
  swap(exchange.after);
  return held;
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

  barrier(); // others may still read what was there
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

  barrier();
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

//===-- shuffles ------------------------------------------------------------------------------------------------===//

/// A value of up to 32 bits as a word, through `move`, and back.
static Value movedAsWord(LaneCode &code, Value value, llvm::function_ref<Value(Value)> move) {
  Type type = value.getType();
  const unsigned width = type.getIntOrFloatBitWidth();
  Type bits = code.builder.getIntegerType(width);
  Value word = isa<FloatType>(type) ? code.bitcast(value, bits) : value;
  if (width < 32)
    word = code.zeroExtend(word, code.i32Type());
  word = move(word);
  if (width < 32)
    word = code.truncate(word, bits);
  return code.bitcast(word, type);
}

Value KernelLowering::shuffleXor(Value value, int64_t mask) {
  return movedAsWord(code, value, [&](Value word) { return shuffleWordXor(word, mask); });
}

Value KernelLowering::shuffle(Value value, Value lane) {
  return movedAsWord(code, value, [&](Value word) { return shuffleWord(word, lane); });
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
