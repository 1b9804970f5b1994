// A decoded instruction: decoded once an address, then executed through its function.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace sectile::emulate {

class Wave;
struct WaveInstruction;
using Semantics = void (*)(Wave &, const WaveInstruction &);

enum class Class : uint8_t {
  valu,
  salu,
  matrix,
  ldsRead,
  ldsWrite,
  globalLoad,
  globalStore,
  scratch,
  scalarLoad,
  barrier,
  branch,
  wait,
  other
};

/// Numbers of the scalar registers that have names.
enum ScalarRegister : uint16_t { flatScratch = 102, vcc = 106, ttmp = 108, m0 = 124, nullRegister = 125, exec = 126 };
constexpr unsigned scalarRegisters = 128, vectorRegisters = 512, firstAccumulator = 256;

struct Operand {
  enum class Kind : uint8_t { none, vector, scalar, constant };
  enum class Select : uint8_t { dword, byte0, byte1, byte2, byte3, word0, word1 }; ///< of SDWA

  Kind kind = Kind::none;
  uint8_t dwords = 1;
  uint16_t reg = 0; ///< vector: 256 and more are accumulators
  bool negate = false, absolute = false, signExtend = false;
  bool high = false;     ///< a 16-bit operand is the upper half
  bool permuted = false; ///< reads other lanes, as WaveInstruction::dpp says
  bool literal = false;  ///< a constant of 32 bits behind the instruction
  bool isFloat = false;  ///< a constant written as a number with a point
  Select select = Select::dword;
  uint32_t bits32 = 0; ///< the constant as each type sees it
  uint16_t bits16 = 0;
  uint64_t bits64 = 0;
  double value = 0;

  bool isVector() const { return kind == Kind::vector; }
  bool isScalar() const { return kind == Kind::scalar; }
  bool isRegister() const { return isVector() || isScalar(); }
};

/// Where a lane's first source comes from, and which lanes write.
struct Dpp {
  std::array<int8_t, 64> from; ///< -1: no lane
  uint64_t rowsAndBanks = ~uint64_t(0);
  bool boundControl = false; ///< no lane reads 0 (otherwise it does not write)
  bool fetchInactive = false;
};

/// What a memory instruction moves.
struct Access {
  enum class Space : uint8_t { none, lds, global, flat, scratch, buffer, scalar } space = Space::none;
  enum class Kind : uint8_t { load, store, atomic } kind = Kind::load;
  enum class Atomic : uint8_t {
    add,
    sub,
    rsub,
    inc,
    dec,
    minSigned,
    minUnsigned,
    maxSigned,
    maxUnsigned,
    bitAnd,
    bitOr,
    bitXor,
    swap,
    compareSwap,
    addFloat,
    minFloat,
    maxFloat,
    addPackedHalf,
    addPackedBfloat
  } atomic = Atomic::add;
  uint8_t bytes = 4;
  bool signExtend = false, half = false, high = false; ///< half: of a register, which keeps the other one
  bool pair = false;                                   ///< two LDS addresses
  bool returns = false;                                ///< an atomic that gives the old value
  bool toLds = false;                                  ///< a load whose destination is LDS at m0
  uint16_t stride = 1;                                 ///< of the offsets of a pair, in elements
};

/// C (m x n) += A (m x k) * B (k x n), `blocks` times.
struct MatrixShape {
  enum class Element : uint8_t { f16, bf16, f32, f64, fp8, bf8, i8, i4, i32 };
  uint16_t m = 0, n = 0, k = 0, blocks = 1;
  Element a = Element::f32, b = Element::f32, c = Element::f32;
  std::vector<uint16_t> places; ///< of element r of each lane of a result: (block * m + row) * n + column
};

struct WaveInstruction {
  Semantics execute = nullptr;
  Class kind = Class::other;
  uint8_t size = 4, operandCount = 0;
  std::array<Operand, 8> operands; ///< as printed: destinations first
  bool clamp = false;
  uint8_t outputScale = 0; ///< 1: *2, 2: *4, 3: /2
  uint8_t opSel = 0, opSelHi = 0xff, negLo = 0, negHi = 0;
  bool hasOpSel = false, sdwa = false, preserve = false, signExtendUnused = false;
  bool offen = false, idxen = false;
  uint8_t cbsz = 0, abid = 0, blgp = 0, truthTable = 0;
  int32_t offset = 0, offset0 = 0, offset1 = 0;
  uint16_t immediate = 0; ///< the low 16 bits of the first word
  uint64_t address = 0;
  Access access;
  const Dpp *dpp = nullptr;
  Semantics first = nullptr;               ///< of a dual issue: what its first half does
  const WaveInstruction *second = nullptr; ///< of a dual issue
  MatrixShape matrix;
  std::string mnemonic, text;

  const Operand &operator[](unsigned i) const { return operands[i]; }
};

} // namespace sectile::emulate
