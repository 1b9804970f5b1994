#include "compiler/targets/amdgcn/LoopModel.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

#include <algorithm>
#include <deque>
#include <vector>

namespace sectile::amdgcn {
namespace {

enum class Kind { vector, transcendental, matrix, scalar, ldsRead, ldsWrite, memory, wait, barrier, other };

struct Instruction {
  llvm::StringRef mnemonic;
  Kind kind = Kind::other;
  int64_t slots = 1;                       ///< of its pipe
  llvm::SmallVector<int, 8> writes, reads; ///< registers, numbered over all files
  int64_t pendingReads = -1;               ///< a wait: how many LDS reads it leaves; -1: it asks for none
};

//===-- reading the assembly ------------------------------------------------------------------------------------===//

constexpr int64_t clocksPerSlot = 4, simds = 4;

/// "v[4:7]", "a3", "s[0:1]", "vcc" as numbers of registers.
void appendRegisters(llvm::StringRef operand, llvm::SmallVectorImpl<int> &registers) {
  operand = operand.trim().ltrim("-|");
  constexpr int fileSize = 512;
  const int file = operand.starts_with("v") ? 0 : operand.starts_with("a") ? 1 : operand.starts_with("s") ? 2 : -1;
  if (operand.starts_with("vcc")) {
    registers.push_back(3 * fileSize);
    return;
  }
  if (file < 0)
    return;
  llvm::StringRef rest = operand.drop_front();
  int first = 0, last = 0;
  if (rest.consume_front("[")) {
    if (rest.consumeInteger(10, first))
      return;
    last = first;
    if (rest.consume_front(":") && rest.consumeInteger(10, last))
      return;
  } else {
    if (rest.consumeInteger(10, first))
      return;
    last = first;
  }
  for (int i = first; i <= last; ++i)
    registers.push_back(file * fileSize + i);
}

/// The passes of 4 clocks of a matrix instruction (AMD's ISA documents), by its name: "v_mfma_f32_32x32x8_f16".
int64_t matrixPasses(llvm::StringRef mnemonic) {
  const bool isLarge = mnemonic.contains("32x32"), isSingle = mnemonic.ends_with("f32");
  return isLarge ? (isSingle ? 16 : 8) : (isSingle ? 8 : 4);
}

int64_t bytesOf(llvm::StringRef mnemonic) {
  const int64_t times = mnemonic.contains("read2") || mnemonic.contains("write2") ? 2 : 1;
  for (auto [suffix, bytes] : {std::pair("b128", 16), {"b96", 12}, {"b64", 8}, {"b32", 4}, {"b16", 2}, {"b8", 1}})
    if (mnemonic.ends_with(suffix) || mnemonic.contains(std::string(suffix) + "_"))
      return times * bytes;
  return times * 4;
}

/// LDS serves 128 bytes a clock, and the same work of the other SIMDs of the compute unit.
int64_t ldsSlots(llvm::StringRef mnemonic) {
  constexpr int64_t lanes = 64, bytesPerClock = 128;
  return std::max<int64_t>(1, simds * lanes * bytesOf(mnemonic) / bytesPerClock / clocksPerSlot);
}

/// "s_waitcnt vmcnt(0) lgkmcnt(2)": how many reads of LDS it leaves pending.
int64_t pendingReads(llvm::StringRef operands) {
  auto [before, after] = operands.split("lgkmcnt(");
  int64_t count = -1;
  if (!after.empty() && after.consumeInteger(10, count))
    return -1;
  return count;
}

Instruction decode(llvm::StringRef line) {
  Instruction result;
  auto [mnemonic, rest] = line.split(' ');
  result.mnemonic = mnemonic.trim();
  const llvm::StringRef name = result.mnemonic;
  llvm::SmallVector<llvm::StringRef, 6> operands;
  rest.split(operands, ',');
  bool writesFirst = true;
  if (name.starts_with("v_mfma") || name.starts_with("v_smfmac")) {
    result.kind = Kind::matrix;
    result.slots = matrixPasses(name);
  } else if (name.starts_with("v_exp") || name.starts_with("v_log") || name.starts_with("v_rcp") ||
             name.starts_with("v_rsq") || name.starts_with("v_sqrt") || name.starts_with("v_mul_lo") ||
             name.starts_with("v_mul_hi") || name.starts_with("v_mad_u64") || name.starts_with("v_mad_i64")) {
    result.kind = Kind::transcendental;
    result.slots = 4;
  } else if (name.starts_with("v_")) {
    result.kind = Kind::vector;
  } else if (name.starts_with("ds_")) {
    writesFirst = !name.starts_with("ds_write") && !name.starts_with("ds_store");
    result.kind = writesFirst ? Kind::ldsRead : Kind::ldsWrite;
    result.slots = ldsSlots(name);
  } else if (name.starts_with("global_") || name.starts_with("buffer_") || name.starts_with("flat_")) {
    result.kind = Kind::memory;
    result.slots = 4;
    writesFirst = name.contains("load");
  } else if (name == "s_waitcnt") {
    result.kind = Kind::wait;
    result.pendingReads = pendingReads(rest);
    return result;
  } else if (name == "s_barrier") {
    result.kind = Kind::barrier;
    return result;
  } else if (name.starts_with("s_nop") || name.starts_with("s_setprio") || name.starts_with("s_branch") ||
             name.starts_with("s_cbranch")) {
    return result;
  } else if (name.starts_with("s_")) {
    result.kind = Kind::scalar;
    writesFirst = !name.starts_with("s_cmp");
  }
  for (auto [i, operand] : llvm::enumerate(operands))
    appendRegisters(operand, writesFirst && i == 0 ? result.writes : result.reads);
  return result;
}

struct Line {
  llvm::StringRef text;
  llvm::StringRef branchTo; ///< a label, or empty
  bool isConditional = false;
};

struct Program {
  std::vector<Line> lines;
  llvm::StringMap<size_t> labels;
};

Program readProgram(llvm::StringRef assembly) {
  Program program;
  llvm::SmallVector<llvm::StringRef, 0> lines;
  assembly.split(lines, '\n');
  for (llvm::StringRef line : lines) {
    line = line.split(';').first.trim();
    if (line.ends_with(":")) {
      program.labels[line.drop_back()] = program.lines.size();
      continue;
    }
    if (line.empty() || line.starts_with("."))
      continue;
    Line read{line, {}, line.starts_with("s_cbranch")};
    if (read.isConditional || line.starts_with("s_branch"))
      read.branchTo = line.split(' ').second.trim();
    program.lines.push_back(read);
  }
  return program;
}

bool isMatrix(const Line &line) { return line.text.starts_with("v_mfma"); }

/// One pass round the loop between `begin` and the branch at `end`, nothing when it leaves.
std::optional<std::vector<Instruction>> pathOf(const Program &program, size_t begin, size_t end) {
  std::vector<Instruction> path;
  for (size_t at = begin; at <= end;) {
    const Line &line = program.lines[at];
    path.push_back(decode(line.text));
    if (at == end)
      return path;
    size_t next = at + 1;
    if (auto target = program.labels.find(line.branchTo); !line.branchTo.empty() && target != program.labels.end()) {
      const size_t to = target->second;
      const bool isForward = to > at && to <= end;
      const auto skipped = llvm::ArrayRef(program.lines).slice(next, isForward ? to - next : 0);
      if (!line.isConditional ? isForward : isForward && llvm::none_of(skipped, isMatrix))
        next = to;
      else if (!line.isConditional)
        return std::nullopt;
    }
    at = next;
  }
  return std::nullopt;
}

/// The innermost loop with the most matrix instructions.
std::vector<Instruction> mainLoop(const Program &program) {
  std::vector<Instruction> best;
  int64_t most = 0;
  for (size_t end = 0; end < program.lines.size(); ++end) {
    auto target = program.labels.find(program.lines[end].branchTo);
    if (program.lines[end].branchTo.empty() || target == program.labels.end() || target->second > end)
      continue;
    std::optional<std::vector<Instruction>> path = pathOf(program, target->second, end);
    if (!path)
      continue;
    const int64_t count = llvm::count_if(*path, [](const Instruction &i) { return i.kind == Kind::matrix; });
    if (count > most || (count == most && count > 0 && path->size() < best.size())) {
      most = count;
      best = std::move(*path);
    }
  }
  return best;
}

//===-- running it ----------------------------------------------------------------------------------------------===//

class Simd {
public:
  Simd(llvm::ArrayRef<Instruction> loop, int64_t waves, int64_t groupWaves)
      : loop(loop), waves(static_cast<size_t>(waves)), groupWaves(static_cast<size_t>(groupWaves)) {}

  /// Slots from the end of iteration `warm` to the end of iteration `last` of all waves.
  int64_t run(int64_t warm, int64_t last) {
    int64_t begin = 0;
    for (int64_t slot = 0;; ++slot) {
      used = {};
      // Waves take turns in being first.
      for (size_t i = 0; i < waves.size(); ++i)
        issue(waves[(i + static_cast<size_t>(slot)) % waves.size()], slot);
      releaseBarrier();
      const int64_t slowest = llvm::min_element(waves, [](auto &a, auto &b) { return a.rounds < b.rounds; })->rounds;
      if (slowest == warm && begin == 0)
        begin = slot;
      if (slowest == last)
        return slot - begin;
    }
  }

private:
  struct Wave {
    size_t at = 0;
    int64_t rounds = 0, freeAt = 0;
    bool waits = false;                      ///< at a barrier
    llvm::DenseMap<int, int64_t> ready;      ///< a register's slot; others are
    llvm::DenseMap<int, int64_t> readyToAdd; ///< the same for accumulators of matrix instructions
    std::deque<int64_t> reads;               ///< when pending reads of LDS arrive
  };

  /// The ports of the SIMD that are taken in this slot.
  struct Used {
    bool vector = false, scalar = false, lds = false, memory = false;
  };

  static bool *portOf(Used &used, Kind kind) {
    switch (kind) {
    case Kind::vector:
    case Kind::transcendental:
    case Kind::matrix:
      return &used.vector;
    case Kind::scalar:
      return &used.scalar;
    case Kind::ldsRead:
    case Kind::ldsWrite:
      return &used.lds;
    case Kind::memory:
      return &used.memory;
    default:
      return nullptr;
    }
  }

  static bool isReady(const Wave &wave, const Instruction &instruction, int64_t slot) {
    const bool adds = instruction.kind == Kind::matrix;
    for (int reg : llvm::concat<const int>(instruction.reads, instruction.writes)) {
      const auto &times = adds && llvm::is_contained(instruction.writes, reg) ? wave.readyToAdd : wave.ready;
      if (auto found = times.find(reg); found != times.end() && found->second > slot)
        return false;
    }
    return true;
  }

  void issue(Wave &wave, int64_t slot) {
    if (wave.waits || wave.freeAt > slot)
      return;
    const Instruction &instruction = loop[wave.at];
    if (instruction.kind == Kind::wait) {
      while (!wave.reads.empty() && wave.reads.front() <= slot)
        wave.reads.pop_front();
      if (instruction.pendingReads >= 0 && std::ssize(wave.reads) > instruction.pendingReads)
        return;
    } else if (instruction.kind == Kind::barrier) {
      wave.waits = true;
    } else {
      bool *port = portOf(used, instruction.kind);
      if ((port && *port) || !isReady(wave, instruction, slot))
        return;
      if (instruction.kind == Kind::matrix && matrixFree > slot)
        return;
      if ((instruction.kind == Kind::vector || instruction.kind == Kind::transcendental) && vectorFree > slot)
        return;
      if (port)
        *port = true;
      execute(wave, instruction, slot);
    }
    wave.freeAt = slot + 1;
    if (++wave.at == loop.size()) {
      wave.at = 0;
      ++wave.rounds;
    }
  }

  void execute(Wave &wave, const Instruction &instruction, int64_t slot) {
    constexpr int64_t ldsLatency = 16, matrixLatency = 2;
    int64_t through = slot + 1;
    switch (instruction.kind) {
    case Kind::matrix:
      matrixFree = slot + instruction.slots;
      for (int reg : instruction.writes)
        wave.readyToAdd[reg] = matrixFree;
      through = matrixFree + matrixLatency;
      break;
    case Kind::vector:
    case Kind::transcendental:
      vectorFree = through = slot + instruction.slots;
      break;
    case Kind::ldsRead:
    case Kind::ldsWrite:
      ldsFree = std::max(ldsFree, slot) + instruction.slots;
      wave.reads.push_back(ldsFree + ldsLatency);
      return; // waits order what reads them
    default:
      break;
    }
    for (int reg : instruction.writes) {
      wave.ready[reg] = through;
      if (instruction.kind != Kind::matrix)
        wave.readyToAdd[reg] = through;
    }
  }

  void releaseBarrier() {
    for (llvm::MutableArrayRef<Wave> left = waves; !left.empty();) {
      llvm::MutableArrayRef<Wave> group = left.take_front(std::min(groupWaves, left.size()));
      if (llvm::all_of(group, [](const Wave &wave) { return wave.waits; }))
        for (Wave &wave : group)
          wave.waits = false;
      left = left.drop_front(group.size());
    }
  }

  llvm::ArrayRef<Instruction> loop;
  std::vector<Wave> waves;
  size_t groupWaves;
  Used used;
  int64_t matrixFree = 0, vectorFree = 0, ldsFree = 0;
};

} // namespace

std::optional<LoopModel> modelMainLoop(llvm::StringRef assembly, int64_t waves, int64_t groupWaves) {
  const std::vector<Instruction> loop = mainLoop(readProgram(assembly));
  if (loop.empty())
    return std::nullopt;
  LoopModel model;
  model.instructions = std::ssize(loop);
  int64_t busy = 0;
  for (const Instruction &instruction : loop) {
    const Kind kind = instruction.kind;
    model.matrix += kind == Kind::matrix;
    model.vector += kind == Kind::vector;
    model.transcendental += kind == Kind::transcendental;
    model.scalar += kind == Kind::scalar;
    model.lds += kind == Kind::ldsRead || kind == Kind::ldsWrite;
    model.memory += kind == Kind::memory;
    busy += kind == Kind::matrix ? instruction.slots : 0;
  }
  constexpr int64_t warm = 4, measured = 16;
  model.clocks = Simd(loop, waves, groupWaves).run(warm, warm + measured) * clocksPerSlot / measured;
  model.matrixClocks = busy * waves * clocksPerSlot;
  return model;
}

} // namespace sectile::amdgcn
