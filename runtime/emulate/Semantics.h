// mnemonic (without _e32, _e64, _dpp, _sdwa) -> what it does. One function a kind of instruction fills the table.
#pragma once

#include "runtime/emulate/WaveInstruction.h"

#include "llvm/ADT/StringMap.h"

namespace sectile::emulate {

enum class Generation : uint8_t;
using SemanticsTable = llvm::StringMap<Semantics>;

void addScalarArithmetic(SemanticsTable &table);
void addScalarControl(SemanticsTable &table);
void addVectorFloat(SemanticsTable &table);
void addVectorInteger(SemanticsTable &table);
void addConversions(SemanticsTable &table);
void addComparisons(SemanticsTable &table);
void addPacked(SemanticsTable &table);
void addCrossLane(SemanticsTable &table);
void addLdsLanes(SemanticsTable &table);

/// The function of a mnemonic: of the table, of memory instructions or of matrix ones; null: the emulator lacks it.
/// Completes `inst` with what the function needs.
Semantics findSemantics(WaveInstruction &inst, Generation generation);

Semantics findMemory(WaveInstruction &inst); ///< global, flat, scratch, buffer, scalar
Semantics findLds(WaveInstruction &inst);
Semantics findMatrix(WaveInstruction &inst, Generation generation);

} // namespace sectile::emulate
