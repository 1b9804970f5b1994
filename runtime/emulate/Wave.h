// The state of one wave: registers, which bits of them nobody wrote ("poison"), and the loads it has not waited for.
#pragma once

#include "runtime/emulate/Counters.h"
#include "runtime/emulate/Waits.h"
#include "runtime/emulate/WaveInstruction.h"

#include "llvm/ADT/Twine.h"

#include <cstring>
#include <memory>
#include <optional>

namespace sectile::emulate {

class Group;
enum class Generation : uint8_t;

constexpr unsigned maxLanes = 64;

/// Lanes of which a value is undefined, for either half of a register: poison spreads through moves and arithmetic and
/// is an error where it decides about an address, what is stored, a branch or EXEC.
struct Poison {
  uint64_t low = 0, high = 0;
  uint64_t any() const { return low | high; }
};

class Wave {
public:
  Wave(Group &group, unsigned index, unsigned lanes, Generation generation);

  //===-- registers ----------------------------------------------------------------------------------------------===//
  alignas(64) uint32_t v[vectorRegisters][maxLanes];
  uint32_t s[scalarRegisters];
  bool scc = false;
  uint64_t pc = 0;

  Poison poison[vectorRegisters];
  uint32_t scalarPoison[scalarRegisters]; ///< bits
  bool sccPoison = true;
  /// Where a register's poison came from: the instruction that made it, none for a register nobody wrote.
  const WaveInstruction *origin[vectorRegisters] = {};

  /// While an instruction executes: lanes whose result is undefined as their sources are, and from where.
  uint64_t poisonIn = 0;
  /// Of sums and products, which carry upwards alone: lanes whose lower half is undefined, too.
  uint64_t lowPoisonIn = 0;
  bool carriesUp = false;
  const WaveInstruction *originIn = nullptr;
  int registerIn = -1; ///< the first undefined register: vector, or scalar + vectorRegisters

  Group &group;
  const unsigned index; ///< in its group
  const unsigned lanes;
  const Generation generation;
  const uint64_t allLanes;
  bool flushSingle = false, flushHalf = false; ///< denormals of f32, and of f16 and f64
  Waits waits;
  Counters counters;

  uint64_t execMask() const { return lanes == 64 ? pair(exec) : s[exec]; }
  void setExecMask(uint64_t mask) { lanes == 64 ? setPair(exec, mask) : void(s[exec] = uint32_t(mask)); }
  uint64_t pair(unsigned reg) const { return s[reg] | uint64_t(s[reg + 1]) << 32; }
  void setPair(unsigned reg, uint64_t value) { s[reg] = uint32_t(value), s[reg + 1] = uint32_t(value >> 32); }
  uint64_t pairPoison(unsigned reg) const { return scalarPoison[reg] | uint64_t(scalarPoison[reg + 1]) << 32; }

  //===-- scalar operands: value, and poison into `poison`
  //---------------------------------------------------------===//
  uint32_t scalar32(const Operand &operand, uint32_t &poison) const;
  uint64_t scalar64(const Operand &operand, uint64_t &poison) const;
  void setScalar32(const Operand &operand, uint32_t value, uint32_t poison);
  void setScalar64(const Operand &operand, uint64_t value, uint64_t poison);
  /// A mask of lanes: 32 or 64 bits of a scalar operand.
  uint64_t laneMask(const Operand &operand, uint64_t &poison) const;
  void setLaneMask(const Operand &operand, uint64_t mask, uint64_t poison);

  //===-- vector operands
  //------------------------------------------------------------------------------------------===//
  /// Dword `part` of an operand, all lanes: the register itself or `buffer`. Applies DPP, but no other modifier.
  const uint32_t *dwords(const WaveInstruction &inst, const Operand &operand, unsigned part, uint32_t *buffer) const;
  Poison poisonOf(const WaveInstruction &inst, const Operand &operand, unsigned part) const;
  /// Adds lanes that are undefined to `poisonIn`.
  void addPoison(const Operand &operand, unsigned part, uint64_t lanesOf, uint64_t lowLanes = ~uint64_t(0));
  void clearPoisonIn() { poisonIn = lowPoisonIn = 0, originIn = nullptr, registerIn = -1; }
  /// Lanes that an instruction writes: EXEC but those that DPP turns off.
  uint64_t written(const WaveInstruction &inst) const;
  /// Writes 32 bits of lanes, undefined where `undefined` says so.
  void setDwords(const WaveInstruction &inst, const Operand &operand, unsigned part, const uint32_t *values,
                 uint64_t mask, Poison undefined);

  //===-- faults
  //---------------------------------------------------------------------------------------------------===//
  /// Ends the launch with an error that names this instruction; the first fault counts.
  void fault(const llvm::Twine &what, int lane = -1);
  /// The fault for a value that depends on what nobody wrote; `what` is such as "the address".
  void faultPoison(const llvm::Twine &what, int lane, const Operand &operand);
  bool failed() const { return error.has_value(); }
  std::optional<std::string> error;
  int errorLane = -1;

  enum class State : uint8_t { running, atBarrier, ended } state = State::running;
  unsigned signalled = 0; ///< barrier signals that this wave has not waited for (gfx12)
  const WaveInstruction *current = nullptr;
  uint8_t *scratch = nullptr; ///< of the wave: dword i of lane l at (i * lanes + l) * 4
  uint8_t *scratchWritten = nullptr;
  uint32_t scratchSize = 0; ///< of a lane
};

/// Where a dword of a lane's scratch lies.
inline uint32_t scratchOffset(uint32_t offset, unsigned lane, unsigned lanes) {
  return (offset / 4 * lanes + lane) * 4 + offset % 4;
}

} // namespace sectile::emulate
