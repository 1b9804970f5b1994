// Branches, barriers, waits, the MODE register, and instructions that only concern timing or caches.
#include "runtime/emulate/Group.h"
#include "runtime/emulate/Operands.h"
#include "runtime/emulate/Semantics.h"

using namespace sectile::emulate;

namespace {

void jump(Wave &wave, const WaveInstruction &inst) {
  wave.pc = inst.address + 4 + int64_t(int16_t(inst.immediate)) * 4;
}

template <bool value> void branchScc(Wave &wave, const WaveInstruction &inst) {
  if (wave.sccPoison)
    return wave.fault("the branch depends on an SCC that nobody wrote or that comes from what nobody wrote");
  if (wave.scc == value)
    jump(wave, inst);
}

template <bool zero> void branchVcc(Wave &wave, const WaveInstruction &inst) {
  Operand operand;
  operand.kind = Operand::Kind::scalar;
  operand.reg = vcc;
  uint64_t poison = 0;
  const uint64_t mask = wave.laneMask(operand, poison);
  // Bits that are set decide, whatever the others are.
  if (poison & wave.allLanes && !(mask & ~poison))
    return wave.faultPoison("the branch", -1, operand);
  if (((mask & wave.allLanes) == 0) == zero)
    jump(wave, inst);
}

template <bool zero> void branchExec(Wave &wave, const WaveInstruction &inst) {
  if ((wave.execMask() == 0) == zero)
    jump(wave, inst);
}

void getPc(Wave &wave, const WaveInstruction &inst) { wave.setScalar64(inst[0], inst.address + inst.size, 0); }

void goTo(Wave &wave, const Operand &to) {
  uint64_t poison = 0;
  const uint64_t target = wave.scalar64(to, poison);
  if (poison)
    return wave.faultPoison("the address of the jump", -1, to);
  wave.pc = target;
}
void setPc(Wave &wave, const WaveInstruction &inst) { goTo(wave, inst[0]); }
void swapPc(Wave &wave, const WaveInstruction &inst) {
  goTo(wave, inst[1]);
  getPc(wave, inst);
}
void call(Wave &wave, const WaveInstruction &inst) {
  getPc(wave, inst);
  jump(wave, inst);
}

void endProgram(Wave &wave, const WaveInstruction &) { wave.state = Wave::State::ended; }
void trap(Wave &wave, const WaveInstruction &) { wave.fault("the kernel traps"); }
void nothing(Wave &, const WaveInstruction &) {}

//===-- barriers -------------------------------------------------------------------------------------------------===//

void barrierSignal(Wave &wave, const WaveInstruction &) {
  ++wave.counters.barriers;
  wave.group.signalBarrier(wave);
}
void barrierWait(Wave &wave, const WaveInstruction &) {
  if (!wave.signalled)
    return wave.fault("the wave waits at a barrier that it has not signalled");
  wave.state = Wave::State::atBarrier;
}
void barrier(Wave &wave, const WaveInstruction &inst) {
  barrierSignal(wave, inst);
  barrierWait(wave, inst);
}

//===-- waits ----------------------------------------------------------------------------------------------------===//

void await(Wave &wave, Counter counter, unsigned count) {
  wave.waits.wait(counter, count, [&](const Waits::Request &request) {
    if (request.ldsEnd)
      wave.group.lds.addPending(request.ldsBegin, request.ldsEnd, -1);
  });
}

void waitcnt(Wave &wave, const WaveInstruction &inst) {
  const unsigned bits = inst.immediate;
  const bool gfx11 = wave.generation >= Generation::gfx11;
  const unsigned vector = gfx11 ? bits >> 10 & 0x3f : (bits & 0xf) | (bits >> 14 & 3) << 4;
  const unsigned lgkm = gfx11 ? bits >> 4 & 0x3f : bits >> 8 & 0xf;
  // the largest value means no wait
  if (vector != 0x3f)
    await(wave, Counter::vector, vector);
  if (lgkm != (gfx11 ? 0x3f : 0xf))
    await(wave, Counter::lgkm, lgkm);
}
template <Counter counter> void waitOne(Wave &wave, const WaveInstruction &inst) {
  await(wave, counter, inst.immediate);
}
template <Counter counter> void waitTwo(Wave &wave, const WaveInstruction &inst) {
  await(wave, counter, inst.immediate >> 8 & 0x3f);
  await(wave, Counter::lgkm, inst.immediate & 0x3f);
}

//===-- the MODE register ----------------------------------------------------------------------------------------===//

void setDenormals(Wave &wave, unsigned single, unsigned half) {
  wave.flushSingle = single != 3;
  wave.flushHalf = half != 3;
}
unsigned mode(const Wave &wave) { return (wave.flushSingle ? 0 : 3) << 4 | (wave.flushHalf ? 0 : 3) << 6; }

void denormMode(Wave &wave, const WaveInstruction &inst) {
  setDenormals(wave, inst.immediate & 3, inst.immediate >> 2 & 3);
}
void setRegisterTo(Wave &wave, const WaveInstruction &inst, uint32_t value) {
  const unsigned id = inst.immediate & 0x3f, offset = inst.immediate >> 6 & 0x1f, size = (inst.immediate >> 11) + 1;
  if (id != 1)
    return wave.fault("the emulator lacks this hardware register: only MODE can be set");
  const uint32_t mask = uint32_t(((uint64_t(1) << size) - 1) << offset);
  if (mask & value << offset & 0xf)
    return wave.fault("the emulator lacks rounding modes but to nearest even");
  const uint32_t next = (mode(wave) & ~mask) | (value << offset & mask);
  setDenormals(wave, next >> 4 & 3, next >> 6 & 3);
}
void setRegister(Wave &wave, const WaveInstruction &inst) {
  uint32_t poison = 0;
  setRegisterTo(wave, inst, wave.scalar32(inst[1], poison));
}
void getRegister(Wave &wave, const WaveInstruction &inst) {
  const unsigned id = inst.immediate & 0x3f, offset = inst.immediate >> 6 & 0x1f, size = (inst.immediate >> 11) + 1;
  const uint32_t value = id == 1 ? mode(wave) : 0; // where the wave runs: 0
  wave.setScalar32(inst[0], uint32_t(value >> offset & ((uint64_t(1) << size) - 1)), 0);
}
void readTime(Wave &wave, const WaveInstruction &inst) { wave.setScalar64(inst[0], wave.counters.waveInstructions, 0); }

} // namespace

void sectile::emulate::addScalarControl(SemanticsTable &t) {
  t["s_branch"] = jump;
  t["s_cbranch_scc0"] = branchScc<false>;
  t["s_cbranch_scc1"] = branchScc<true>;
  t["s_cbranch_vccz"] = branchVcc<true>;
  t["s_cbranch_vccnz"] = branchVcc<false>;
  t["s_cbranch_execz"] = branchExec<true>;
  t["s_cbranch_execnz"] = branchExec<false>;
  t["s_getpc_b64"] = t["s_get_pc_i64"] = getPc;
  t["s_setpc_b64"] = t["s_set_pc_i64"] = setPc;
  t["s_swappc_b64"] = t["s_swap_pc_i64"] = swapPc;
  t["s_call_b64"] = t["s_call_i64"] = call;
  t["s_endpgm"] = endProgram;
  t["s_trap"] = trap;
  t["s_barrier"] = barrier;
  t["s_barrier_signal"] = barrierSignal;
  t["s_barrier_wait"] = barrierWait;
  t["s_waitcnt"] = waitcnt;
  t["s_waitcnt_vscnt"] = t["s_wait_storecnt"] = waitOne<Counter::store>;
  t["s_wait_loadcnt"] = waitOne<Counter::vector>;
  t["s_wait_dscnt"] = waitOne<Counter::lgkm>;
  t["s_wait_kmcnt"] = waitOne<Counter::scalar>;
  t["s_wait_loadcnt_dscnt"] = waitTwo<Counter::vector>;
  t["s_wait_storecnt_dscnt"] = waitTwo<Counter::store>;
  t["s_denorm_mode"] = denormMode;
  t["s_setreg_b32"] = t["s_setreg_imm32_b32"] = setRegister;
  t["s_getreg_b32"] = getRegister;
  t["s_memtime"] = t["s_memrealtime"] = readTime;
  for (const char *name : {"s_nop",
                           "s_sleep",
                           "s_setprio",
                           "s_clause",
                           "s_delay_alu",
                           "s_set_inst_prefetch_distance",
                           "s_inst_prefetch",
                           "s_icache_inv",
                           "s_dcache_inv",
                           "s_dcache_wb",
                           "s_sethalt",
                           "s_waitcnt_depctr",
                           "s_wait_alu",
                           "s_sendmsg",
                           "s_wait_idle",
                           "s_wakeup",
                           "s_waitcnt_expcnt",
                           "s_wait_expcnt",
                           "s_wait_samplecnt",
                           "s_wait_bvhcnt",
                           "s_wait_xcnt",
                           "s_prefetch_inst",
                           "s_prefetch_data",
                           "s_prefetch_inst_pc_rel",
                           "s_version",
                           "s_ttracedata",
                           "buffer_wbl2",
                           "buffer_inv",
                           "buffer_wbinvl1",
                           "buffer_wbinvl1_vol",
                           "buffer_invl2",
                           "buffer_gl0_inv",
                           "buffer_gl1_inv",
                           "global_inv",
                           "global_wb",
                           "global_wbinv",
                           "v_nop",
                           "s_setprio_inc_wg"})
    t[name] = nothing;
}
