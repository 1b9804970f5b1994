#include "runtime/emulate/Wave.h"
#include "runtime/emulate/CodeObject.h"

#include "llvm/Support/raw_ostream.h"

using namespace sectile::emulate;

Wave::Wave(Group &group, unsigned index, unsigned lanes, Generation generation)
    : group(group), index(index), lanes(lanes), generation(generation),
      allLanes(lanes == 64 ? ~uint64_t(0) : (uint64_t(1) << lanes) - 1) {
  std::memset(v, 0, sizeof v);
  std::memset(s, 0, sizeof s);
  std::memset(scalarPoison, 0xff, sizeof scalarPoison);
  std::fill(std::begin(poison), std::end(poison), Poison{~uint64_t(0), ~uint64_t(0)});
  scalarPoison[nullRegister] = 0;
}

//===-- scalar operands ------------------------------------------------------------------------------------------===//

uint32_t Wave::scalar32(const Operand &operand, uint32_t &undefined) const {
  undefined = 0;
  if (operand.kind == Operand::Kind::constant)
    return operand.bits32;
  undefined = scalarPoison[operand.reg];
  return s[operand.reg];
}

uint64_t Wave::scalar64(const Operand &operand, uint64_t &undefined) const {
  undefined = 0;
  if (operand.kind == Operand::Kind::constant)
    return operand.bits64;
  if (operand.reg == nullRegister)
    return 0;
  undefined = pairPoison(operand.reg);
  return pair(operand.reg);
}

void Wave::setScalar32(const Operand &operand, uint32_t value, uint32_t undefined) {
  if (operand.reg == nullRegister)
    return;
  if (operand.reg >= exec && (undefined & (operand.reg == exec ? allLanes : allLanes >> 32)))
    return faultPoison("EXEC", -1, operand);
  s[operand.reg] = value;
  scalarPoison[operand.reg] = operand.reg >= exec ? 0 : undefined;
}

void Wave::setScalar64(const Operand &operand, uint64_t value, uint64_t undefined) {
  if (operand.reg == nullRegister)
    return;
  if (operand.reg == exec && (undefined & allLanes))
    return faultPoison("EXEC", -1, operand);
  setPair(operand.reg, value);
  scalarPoison[operand.reg] = operand.reg >= exec ? 0 : uint32_t(undefined);
  scalarPoison[operand.reg + 1] = operand.reg >= exec ? 0 : uint32_t(undefined >> 32);
}

uint64_t Wave::laneMask(const Operand &operand, uint64_t &undefined) const {
  if (lanes == 64)
    return scalar64(operand, undefined);
  uint32_t undefined32 = 0;
  const uint64_t mask = scalar32(operand, undefined32);
  undefined = undefined32;
  return mask;
}

void Wave::setLaneMask(const Operand &operand, uint64_t mask, uint64_t undefined) {
  if (lanes == 64)
    setScalar64(operand, mask, undefined);
  else
    setScalar32(operand, uint32_t(mask), uint32_t(undefined));
}

//===-- vector operands ------------------------------------------------------------------------------------------===//

const uint32_t *Wave::dwords(const WaveInstruction &inst, const Operand &operand, unsigned part,
                             uint32_t *buffer) const {
  if (operand.isVector()) {
    const uint32_t *row = v[operand.reg + part];
    if (!operand.permuted)
      return row;
    for (unsigned lane = 0; lane < lanes; ++lane) {
      const int from = inst.dpp->from[lane];
      const bool valid = from >= 0 && (inst.dpp->fetchInactive || (execMask() >> from & 1));
      buffer[lane] = valid ? row[from] : 0;
    }
    return buffer;
  }
  uint32_t value = operand.bits32;
  if (operand.isScalar())
    value = operand.reg == nullRegister ? 0 : s[operand.reg + part];
  else if (operand.dwords > 1 || part)
    value = uint32_t(operand.bits64 >> (32 * part));
  std::fill_n(buffer, lanes, value);
  return buffer;
}

Poison Wave::poisonOf(const WaveInstruction &inst, const Operand &operand, unsigned part) const {
  if (operand.kind == Operand::Kind::constant)
    return {};
  if (operand.isScalar()) {
    const uint32_t bits = operand.reg == nullRegister ? 0 : scalarPoison[operand.reg + part];
    return {bits & 0xffff ? allLanes : 0, bits >> 16 ? allLanes : 0};
  }
  const Poison &own = poison[operand.reg + part];
  if (!operand.permuted || !own.any())
    return own;
  Poison moved;
  for (unsigned lane = 0; lane < lanes; ++lane)
    if (const int from = inst.dpp->from[lane]; from >= 0) {
      moved.low |= (own.low >> from & 1) << lane;
      moved.high |= (own.high >> from & 1) << lane;
    }
  return moved;
}

void Wave::addPoison(const Operand &operand, unsigned part, uint64_t lanesOf, uint64_t lowLanes) {
  if (!(lanesOf & execMask()))
    return;
  poisonIn |= lanesOf;
  lowPoisonIn |= lanesOf & lowLanes;
  if (registerIn < 0) {
    registerIn = operand.isVector() ? operand.reg + part : int(vectorRegisters + operand.reg + part);
    originIn = operand.isVector() ? origin[operand.reg + part] : nullptr;
  }
}

uint64_t Wave::written(const WaveInstruction &inst) const {
  uint64_t mask = execMask();
  if (!inst.dpp)
    return mask;
  mask &= inst.dpp->rowsAndBanks;
  if (!inst.dpp->boundControl)
    for (unsigned lane = 0; lane < lanes; ++lane) {
      const int from = inst.dpp->from[lane];
      if (from < 0 || (!inst.dpp->fetchInactive && !(execMask() >> from & 1)))
        mask &= ~(uint64_t(1) << lane);
    }
  return mask;
}

void Wave::setDwords(const WaveInstruction &inst, const Operand &operand, unsigned part, const uint32_t *values,
                     uint64_t mask, Poison undefined) {
  const unsigned reg = operand.reg + part;
  uint32_t *row = v[reg];
  if (mask == allLanes) {
    std::memcpy(row, values, lanes * sizeof(uint32_t));
  } else {
    for (unsigned lane = 0; lane < lanes; ++lane)
      row[lane] = mask >> lane & 1 ? values[lane] : row[lane];
  }
  Poison &own = poison[reg];
  own.low = (own.low & ~mask) | (undefined.low & mask);
  own.high = (own.high & ~mask) | (undefined.high & mask);
  if (undefined.any() & mask)
    origin[reg] = originIn ? originIn : &inst;
}

//===-- faults ---------------------------------------------------------------------------------------------------===//

void Wave::fault(const llvm::Twine &what, int lane) {
  if (error)
    return;
  error = what.str();
  errorLane = lane;
}

void Wave::faultPoison(const llvm::Twine &what, int lane, const Operand &operand) {
  if (error)
    return;
  int reg = registerIn;
  const WaveInstruction *from = originIn;
  if (reg < 0 && operand.isVector()) {
    reg = operand.reg;
    from = origin[operand.reg];
  } else if (reg < 0 && operand.isScalar()) {
    reg = vectorRegisters + operand.reg;
  }
  std::string text;
  llvm::raw_string_ostream os(text);
  os << what << " depends on a value that nobody wrote";
  if (from)
    os << ": it comes from '" << from->text << "'";
  else if (reg >= int(vectorRegisters))
    os << ": register s" << reg - int(vectorRegisters);
  else if (reg >= int(firstAccumulator))
    os << ": register a" << reg - int(firstAccumulator);
  else if (reg >= 0)
    os << ": register v" << reg;
  fault(text, lane);
}
