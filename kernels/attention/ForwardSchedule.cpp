// Known good tile sizes of the forward kernel.
#include "kernels/attention/Forward.h"

#include <algorithm>
#include <limits>
#include <optional>

namespace sectile::attention {
namespace {

constexpr int64_t any = std::numeric_limits<int64_t>::max();

/// The first row that fits decides: the target's name begins with `target`, sizes are up to the limits, the mask is as
/// said, every thread gets at least `programs` programs (blocks of blockM rows of one head), so that uneven ones
/// balance out, and the rows of the last block that lie past the end are few.
struct Choice {
  std::string_view target;
  int64_t headDim, seqlenQ, seqlenK; ///< headDim is the larger one of q's and v's
  bool band;                         ///< also for causal masks and windows
  int64_t programs;
  int32_t blockM, blockN;
};

// Each block of rows loads all keys and values that it sees, which costs as much as computing 20 rows: tall blocks
// save that (docs/benchmarks/cpu_attention.md). Beside a diagonal they compute more that the mask then hides.
constexpr Choice choices[] = {
    // target, headDim, seqlenQ, seqlenK, band, programs, blockM, blockN
    {"", any, 16, 127, true, 0, 16, 64},     //
    {"", 255, 16, any, true, 0, 16, 128},    //
    {"", any, 16, any, true, 0, 16, 64},     //
    {"", any, 32, 127, true, 0, 32, 64},     //
    {"", 255, 32, any, true, 0, 32, 128},    //
    {"", any, 32, any, true, 0, 32, 64},     //
    {"", 128, any, any, false, 24, 512, 64}, //
    {"", 255, any, any, false, 8, 256, 64},  //
    {"", 255, any, any, true, 48, 256, 64},  //
    {"", 255, any, any, true, 8, 128, 64},   //
    {"", any, any, any, true, 0, 64, 64},
};

/// The same for GPUs: by the target's name, the bytes of an element and the sizes. Rows of a wide head take much
/// shared memory and many registers; each block below fits the smallest GPU of its rows (64 KB on sm_75, 99 KB on
/// sm_86, sm_89 and sm_120), and up to head dimension 256 no register is spilled (tests/nvptx/).
struct GpuChoice {
  std::string_view target;
  int32_t elementBytes; ///< up to so many
  int64_t headDim, seqlenQ, seqlenK;
  int32_t blockM, blockN, warps, stages;
};

// As measured (docs/benchmarks/gpu_attention.md): 128 rows in four warps, two blocks an SM, and as many stages as leave
// room for both.
constexpr GpuChoice gpuChoices[] = {
    // target, bytes, headDim, seqlenQ, seqlenK, blockM, blockN, warps, stages
    {"amdgcn:gfx1", 2, 128, any, any, 64, 64, 4, 1}, // 16 rows a wave
    {"amdgcn:gfx1", 2, 256, any, any, 64, 32, 4, 1}, //
    {"amdgcn:gfx1", 2, any, any, any, 16, 16, 4, 1}, //
    {"amdgcn:", 2, 128, any, any, 128, 64, 4, 1},    // 32 rows a wave, two of which are on a SIMD
    {"amdgcn:", 2, 256, any, any, 128, 32, 4, 1},    //
    {"amdgcn:", 2, any, any, any, 32, 16, 4, 1},     //
    {"amdgcn:", 4, 64, any, any, 32, 32, 4, 1},      // by scalar instructions
    {"amdgcn:", 4, 128, any, any, 32, 16, 4, 1},     //
    {"amdgcn:", 4, 256, any, any, 16, 16, 4, 1},     //
    {"amdgcn:", 4, any, any, any, 16, 8, 4, 1},      //
    {"nvptx:sm_75", 2, 64, any, any, 64, 64, 4, 2},  //
    {"nvptx:sm_75", 2, 128, any, any, 64, 32, 4, 2}, //
    {"nvptx:sm_75", 2, 256, any, any, 64, 16, 8, 2}, //
    {"nvptx:sm_75", 2, any, any, any, 16, 16, 4, 1}, //
    {"nvptx:sm_75", 4, 64, any, any, 32, 32, 4, 1},  //
    {"nvptx:sm_75", 4, 128, any, any, 32, 16, 4, 1}, //
    {"nvptx:sm_75", 4, 256, any, any, 16, 16, 4, 1}, //
    {"nvptx:sm_75", 4, any, any, any, 16, 8, 4, 1},  //
    {"", 2, 128, 64, any, 64, 64, 4, 2},             //
    {"nvptx:sm_86", 2, 64, any, any, 128, 64, 4, 2}, // 100 KB an SM
    {"nvptx:sm_89", 2, 64, any, any, 128, 64, 4, 2}, //
    {"nvptx:sm_12", 2, 64, any, any, 128, 64, 4, 2}, //
    {"", 2, 64, any, 767, 128, 64, 4, 3},            // 80 keys would leave much of the last block empty
    {"", 2, 64, any, any, 128, 80, 4, 3},            //
    {"nvptx:sm_86", 2, 128, any, any, 64, 64, 4, 1}, //
    {"nvptx:sm_89", 2, 128, any, any, 64, 64, 4, 1}, //
    {"nvptx:sm_12", 2, 128, any, any, 64, 64, 4, 1}, //
    {"nvptx:sm_8", 2, 128, any, any, 64, 128, 4, 1}, // 164 KB: a single stage, and 128 x 64 spills
    {"", 2, 128, any, any, 128, 64, 4, 2},           // 228 KB
    {"", 2, 256, any, any, 64, 64, 4, 1},            //
    {"", 2, 384, any, any, 32, 16, 4, 2},            //
    {"", 2, any, any, any, 16, 16, 4, 2},            //
    {"", 4, 64, any, any, 64, 32, 4, 2},             //
    {"", 4, 128, any, any, 64, 16, 4, 2},            //
    {"", 4, 256, any, any, 32, 16, 4, 2},            //
    {"", 4, any, any, any, 16, 8, 4, 1},
};

/// On sm_90a for kernels with a producer and wgmma: elements of 16 bits, head dimensions in multiples of 16, all keys
/// of the arrays (values past a sequence's own length would have to be masked where TMA puts them).
struct RolesChoice {
  int64_t headDim, seqlenK;
  bool band;        ///< also for causal masks and windows
  int64_t programs; ///< at least so many: fewer would leave multiprocessors idle
  int32_t blockM, blockN, warps, stages, registers;
  Persistent persistent;
};

// As measured (docs/benchmarks/gpu_roles.md). Two or three small blocks share a multiprocessor, so that one loads while
// others compute: short sequences need that. Blocks that stay do the same, where programs are as long as one another,
// or are taken in pairs that are, and each multiprocessor runs many.
constexpr RolesChoice rolesChoices[] = {
    // headDim, seqlenK, band, programs, blockM, blockN, warps, stages, registers, persistent
    {64, any, false, 132, 256, 64, 16, 4, 112, Persistent::fixed},        //
    {64, 1535, true, 6 * 3 * 132, 64, 64, 4, 3, 136, Persistent::fixed},  //
    {64, 3071, true, 0, 64, 64, 4, 3, 136, Persistent::off},              //
    {64, any, true, 132, 256, 64, 16, 4, 112, Persistent::off},           //
    {64, any, true, 0, 64, 64, 4, 3, 136, Persistent::off},               //
    {128, any, false, 132, 128, 128, 8, 2, 240, Persistent::fixed},       //
    {128, 1535, true, 6 * 2 * 132, 64, 64, 4, 3, 232, Persistent::fixed}, //
    {128, 1535, true, 0, 64, 64, 4, 3, 232, Persistent::off},             //
    {128, 3071, true, 6 * 132, 128, 128, 8, 2, 240, Persistent::fixed},   //
    {128, any, true, 132, 128, 128, 8, 2, 240, Persistent::off},          //
    {128, any, true, 0, 64, 96, 4, 2, 232, Persistent::off},              //
    {256, any, true, 0, 128, 64, 8, 2, 240, Persistent::off},
};

const RolesChoice *rolesChoice(const ForwardProblem &problem, const Band &band, std::string_view target) {
  constexpr int64_t fewestRows = 65; // of fewer, most of a block would be idle
  if (!target.starts_with("nvptx:sm_90a") || typeBytes(problem.type) != 2 || problem.headDim % 16 != 0 ||
      problem.headDimV % 16 != 0 || problem.hasKeyLengths || problem.seqlenQ < fewestRows)
    return nullptr;
  const int64_t headDim = std::max(problem.headDim, problem.headDimV);
  const auto *found = std::ranges::find_if(rolesChoices, [&](const RolesChoice &c) {
    const int64_t programs = (problem.seqlenQ + c.blockM - 1) / c.blockM * problem.headsQ * problem.batch;
    return headDim <= c.headDim && problem.seqlenK <= c.seqlenK && programs >= c.programs &&
           (c.band || !(band.hasLeft || band.hasRight));
  });
  return found == std::end(rolesChoices) ? nullptr : found;
}

/// Of a schedule that names tiles or warps the rest is as the target has it; else a producer comes as the table says.
std::optional<Schedule> completeRolesSchedule(const Schedule &asked, const ForwardProblem &problem, const Band &band,
                                              std::string_view target) {
  const RolesChoice *choice = rolesChoice(problem, band, target);
  const bool isAsked = asked.specialize == Specialize::producer;
  if (!choice || asked.specialize == Specialize::none || (!isAsked && (asked.blockM || asked.blockN || asked.warps)))
    return std::nullopt;
  Schedule schedule = asked;
  schedule.specialize = Specialize::producer;
  constexpr int32_t rowsPerWarp = 16;
  if (asked.blockM == 0)
    schedule.blockM = asked.warps ? asked.warps * rowsPerWarp : choice->blockM;
  if (asked.warps == 0)
    schedule.warps = schedule.blockM / rowsPerWarp;
  if (asked.registers == 0 && schedule.warps == choice->warps)
    schedule.registers = choice->registers;
  if (asked.persistent == Persistent::chosen)
    schedule.persistent = choice->persistent;
  if (asked.softmax == Softmax::chosen && problem.hasAlibi) // scores rise up to the diagonal: no maximum stays one
    schedule.softmax = Softmax::exact;
  if (asked.blockN == 0)
    schedule.blockN = choice->blockN;
  if (asked.stages == 0)
    schedule.stages = choice->stages;
  return schedule;
}

Schedule completeGpuSchedule(const Schedule &asked, const ForwardProblem &problem, std::string_view target) {
  const int64_t headDim = std::max(problem.headDim, problem.headDimV);
  const GpuChoice &choice = *std::ranges::find_if(gpuChoices, [&](const GpuChoice &c) {
    return target.starts_with(c.target) && typeBytes(problem.type) <= c.elementBytes && headDim <= c.headDim &&
           problem.seqlenQ <= c.seqlenQ && problem.seqlenK <= c.seqlenK;
  });
  Schedule schedule = asked;
  if (asked.blockM == 0) {
    schedule.blockM = choice.blockM;
    if (asked.warps == 0) // which go with the rows
      schedule.warps = choice.warps;
  }
  if (asked.blockN == 0)
    schedule.blockN = choice.blockN;
  if (asked.stages == 0)
    schedule.stages = choice.stages;
  return schedule;
}

} // namespace

/// Below a diagonal (docs/benchmarks/gpu_roles.md): whoever stays takes blocks in pairs.
static Order chosenOrder(const Schedule &schedule, const Band &band, std::string_view target) {
  if (!target.starts_with("nvptx:") || !band.hasRight || band.hasLeft)
    return Order::heads;
  return schedule.persistent == Persistent::fixed ? Order::paired : Order::longest;
}

static Schedule completeTiles(const Schedule &asked, const ForwardProblem &problem, const Band &band,
                              std::string_view target, int threads) {
  if (std::optional<Schedule> roles = completeRolesSchedule(asked, problem, band, target))
    return *roles;
  if (target.starts_with("nvptx:") || target.starts_with("amdgcn:"))
    return completeGpuSchedule(asked, problem, target);
  const int64_t headDim = std::max(problem.headDim, problem.headDimV);
  const auto blocks = [&](int64_t rows) { return (problem.seqlenQ + rows - 1) / rows; };
  const Choice &choice = *std::ranges::find_if(choices, [&](const Choice &c) {
    return target.starts_with(c.target) && headDim <= c.headDim && problem.seqlenQ <= c.seqlenQ &&
           problem.seqlenK <= c.seqlenK && (c.band || !(band.hasLeft || band.hasRight)) &&
           (c.blockM <= 64 || 8 * blocks(c.blockM) * c.blockM <= 9 * blocks(64) * 64) &&
           blocks(c.blockM) * problem.headsQ * problem.batch >= c.programs * threads;
  });
  Schedule schedule = asked;
  if (schedule.blockM == 0)
    schedule.blockM = choice.blockM;
  if (schedule.blockN == 0)
    schedule.blockN = choice.blockN;
  return schedule;
}

Schedule completeForwardSchedule(const Schedule &asked, const ForwardProblem &problem, const Band &band,
                                 std::string_view target, int threads) {
  Schedule schedule = completeTiles(asked, problem, band, target, threads);
  if (schedule.order == Order::chosen)
    schedule.order = chosenOrder(schedule, band, target);
  return schedule;
}

} // namespace sectile::attention
