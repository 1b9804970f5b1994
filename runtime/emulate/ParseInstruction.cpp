// The printed form of an instruction -> operands and modifiers.
#include "runtime/emulate/Apertures.h"
#include "runtime/emulate/Decoder.h"
#include "runtime/emulate/NumberFormats.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace sectile::emulate;
using llvm::SmallVector;
using llvm::StringRef;

namespace {

/// Splits at `separator` outside of brackets and bars.
SmallVector<StringRef, 8> splitAt(StringRef text, char separator) {
  SmallVector<StringRef, 8> parts;
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && (text[i] == '[' || text[i] == '('))
      ++depth;
    if (i < text.size() && (text[i] == ']' || text[i] == ')'))
      --depth;
    if (i == text.size() || (text[i] == separator && depth == 0)) {
      if (StringRef part = text.slice(begin, i).trim(); !part.empty())
        parts.push_back(part);
      begin = i + 1;
    }
  }
  return parts;
}

bool number(StringRef text, int64_t &value) { return !text.getAsInteger(0, value); }

/// "[0,1,3]" as bits or numbers.
SmallVector<int64_t, 8> list(StringRef text) {
  SmallVector<int64_t, 8> values;
  for (StringRef item : splitAt(text.trim("[]"), ',')) {
    int64_t value = 0;
    number(item, value);
    values.push_back(value);
  }
  return values;
}
uint8_t bitList(StringRef text) {
  uint8_t bits = 0;
  for (auto [i, value] : llvm::enumerate(list(text)))
    bits |= uint8_t(value != 0) << i;
  return bits;
}

bool named(StringRef text, uint16_t &reg, uint8_t &dwords) {
  const int code = llvm::StringSwitch<int>(text)
                       .Case("vcc", vcc << 4 | 2)
                       .Case("vcc_lo", vcc << 4 | 1)
                       .Case("vcc_hi", (vcc + 1) << 4 | 1)
                       .Case("exec", exec << 4 | 2)
                       .Case("exec_lo", exec << 4 | 1)
                       .Case("exec_hi", (exec + 1) << 4 | 1)
                       .Case("m0", m0 << 4 | 1)
                       .Case("null", nullRegister << 4 | 1)
                       .Case("flat_scratch", flatScratch << 4 | 2)
                       .Case("flat_scratch_lo", flatScratch << 4 | 1)
                       .Case("flat_scratch_hi", (flatScratch + 1) << 4 | 1)
                       .Default(-1);
  reg = uint16_t(code >> 4), dwords = uint8_t(code & 15);
  return code >= 0;
}

bool parseRegister(StringRef text, Operand &operand) {
  if (named(text, operand.reg, operand.dwords)) {
    operand.kind = Operand::Kind::scalar;
    return true;
  }
  if (text.consume_back(".h"))
    operand.high = true;
  else
    text.consume_back(".l");
  unsigned base = 0;
  if (text.consume_front("ttmp"))
    operand.kind = Operand::Kind::scalar, base = ttmp;
  else if (text.consume_front("v"))
    operand.kind = Operand::Kind::vector;
  else if (text.consume_front("a"))
    operand.kind = Operand::Kind::vector, base = firstAccumulator;
  else if (text.consume_front("s"))
    operand.kind = Operand::Kind::scalar;
  else
    return false;
  unsigned first = 0, last = 0;
  if (text.consume_front("[")) {
    auto [from, to] = text.drop_back().split(':');
    if (from.getAsInteger(10, first) || to.getAsInteger(10, last) || last < first)
      return false;
  } else if (text.getAsInteger(10, first)) {
    return false;
  } else {
    last = first;
  }
  operand.reg = uint16_t(base + first);
  operand.dwords = uint8_t(last - first + 1);
  return operand.reg + operand.dwords <= (operand.isVector() ? vectorRegisters : scalarRegisters);
}

void setInteger(Operand &operand, int64_t value) {
  operand.kind = Operand::Kind::constant;
  operand.bits32 = uint32_t(value), operand.bits16 = uint16_t(value), operand.bits64 = uint64_t(value);
  operand.value = double(value);
}

bool parseConstant(StringRef text, Operand &operand) {
  if (text == "src_shared_base" || text == "src_private_base") {
    setInteger(operand, int64_t(text == "src_shared_base" ? sharedAperture : privateAperture));
    return true;
  }
  if (text.consume_front("lit(") || text.consume_front("lit64("))
    text.consume_back(")");
  int64_t value = 0;
  if (number(text, value)) {
    setInteger(operand, value);
    operand.literal = text.starts_with("0x");
    return true;
  }
  double number = 0;
  if (!text.contains('.') || text.getAsDouble(number))
    return false;
  operand.kind = Operand::Kind::constant;
  operand.isFloat = true;
  operand.value = number;
  operand.bits32 = asBits(float(number)), operand.bits64 = std::bit_cast<uint64_t>(number);
  operand.bits16 = uint16_t(floatToHalf(float(number)));
  if (text.starts_with("0.15915494")) { // 1 / (2 pi): its nearest value in each format
    operand.bits32 = 0x3e22f983, operand.bits16 = 0x3118, operand.bits64 = 0x3fc45f306dc9c882;
  }
  return true;
}

bool parseOperand(StringRef text, Operand &operand) {
  if (text == "off")
    return true;
  if (text.consume_front("sext("))
    operand.signExtend = true, text.consume_back(")");
  if (text.consume_front("neg("))
    operand.negate = true, text.consume_back(")");
  else if (text.starts_with("-") && text.size() > 1 && !llvm::isDigit(text[1]))
    operand.negate = true, text = text.drop_front();
  if (text.consume_front("abs("))
    operand.absolute = true, text.consume_back(")");
  else if (text.consume_front("|"))
    operand.absolute = true, text.consume_back("|");
  if (parseRegister(text, operand))
    return true;
  operand.kind = Operand::Kind::none;
  return parseConstant(text, operand);
}

Operand::Select selection(StringRef text) {
  return llvm::StringSwitch<Operand::Select>(text)
      .Case("BYTE_0", Operand::Select::byte0)
      .Case("BYTE_1", Operand::Select::byte1)
      .Case("BYTE_2", Operand::Select::byte2)
      .Case("BYTE_3", Operand::Select::byte3)
      .Case("WORD_0", Operand::Select::word0)
      .Case("WORD_1", Operand::Select::word1)
      .Default(Operand::Select::dword);
}

/// Where each lane reads, for a DPP control; false: it is none.
bool permutation(StringRef name, StringRef argument, Dpp &dpp) {
  int64_t n = 0;
  number(argument, n);
  const SmallVector<int64_t, 8> picks = argument.starts_with("[") ? list(argument) : SmallVector<int64_t, 8>();
  for (int lane = 0; lane < 64; ++lane) {
    const int row = lane & ~15, i = lane & 15;
    int from = -1;
    if (name == "quad_perm" && picks.size() == 4)
      from = (lane & ~3) + int(picks[lane & 3]);
    else if (name == "dpp8" && picks.size() == 8)
      from = (lane & ~7) + int(picks[lane & 7]);
    else if (name == "row_shl")
      from = i + n < 16 ? lane + int(n) : -1;
    else if (name == "row_shr")
      from = i >= n ? lane - int(n) : -1;
    else if (name == "row_ror")
      from = row + int((i - n) & 15);
    else if (name == "wave_shl")
      from = lane + 1 < 64 ? lane + 1 : -1;
    else if (name == "wave_shr")
      from = lane - 1;
    else if (name == "wave_rol")
      from = (lane + 1) & 63;
    else if (name == "wave_ror")
      from = (lane - 1) & 63;
    else if (name == "row_mirror")
      from = row + 15 - i;
    else if (name == "row_half_mirror")
      from = (lane & ~7) + 7 - (lane & 7);
    else if (name == "row_bcast")
      from = n == 15 ? row - 1 : lane >= 32 ? 31 : -1;
    else if (name == "row_newbcast" || name == "row_share")
      from = row + int(n);
    else if (name == "row_xmask")
      from = lane ^ int(n);
    else
      return false;
    dpp.from[lane] = int8_t(from);
  }
  return true;
}

uint64_t rowsOf(int64_t mask) {
  uint64_t lanes = 0;
  for (unsigned lane = 0; lane < 64; ++lane)
    lanes |= uint64_t(mask >> (lane / 16) & 1) << lane;
  return lanes;
}
uint64_t banksOf(int64_t mask) {
  uint64_t lanes = 0;
  for (unsigned lane = 0; lane < 64; ++lane)
    lanes |= uint64_t(mask >> (lane / 4 % 4) & 1) << lane;
  return lanes;
}

class Parser {
public:
  Parser(WaveInstruction &inst, Generation generation) : inst(inst), generation(generation) {}

  std::string parse(StringRef text, std::vector<std::unique_ptr<Dpp>> &permutations) {
    auto [name, rest] = text.split(' ');
    parseMnemonic(name);
    SmallVector<StringRef, 8> parts = splitAt(rest, ',');
    for (auto [i, part] : llvm::enumerate(parts)) {
      SmallVector<StringRef, 8> words = splitAt(part, ' ');
      for (auto [j, word] : llvm::enumerate(words)) {
        if (j == 0 && addOperand(word))
          continue;
        if (j == 0 && i + 1 != parts.size())
          return ("operand '" + word + "'").str();
        if (!parseModifier(word))
          return ("modifier '" + word + "'").str();
      }
    }
    if (tooMany)
      return "so many operands";
    finish();
    if (dpp)
      inst.dpp = permutations.emplace_back(std::move(dpp)).get();
    return "";
  }

private:
  void parseMnemonic(StringRef name) {
    for (bool again = true; again;) {
      again = name.consume_back("_e32") || name.consume_back("_e64") || name.consume_back("_dpp8") ||
              name.consume_back("_dpp");
      if (name.consume_back("_sdwa"))
        inst.sdwa = again = true;
    }
    inst.mnemonic = name.str();
    const bool noResult = (name.starts_with("v_cmpx_") && generation >= Generation::gfx11);
    destinations = noResult ? 0
                   : name.contains("_co_") || name.starts_with("v_div_scale") || name.starts_with("v_mad_u64") ||
                           name.starts_with("v_mad_i64")
                       ? 2
                       : 1;
    if (name.starts_with("v_fma_mix"))
      inst.opSelHi = 0;
  }

  bool addOperand(StringRef word) {
    Operand operand;
    if (!parseOperand(word, operand))
      return false;
    if (inst.operandCount == inst.operands.size())
      return tooMany = true;
    inst.operands[inst.operandCount++] = operand;
    return true;
  }

  bool parseModifier(StringRef word) {
    auto [name, argument] = word.split(':');
    int64_t value = 0;
    const bool isNumber = number(argument, value);
    if (name == "clamp")
      inst.clamp = true;
    else if (name == "mul" && isNumber)
      inst.outputScale = value == 2 ? 1 : 2;
    else if (name == "div")
      inst.outputScale = 3;
    else if (name == "op_sel")
      inst.opSel = bitList(argument), inst.hasOpSel = true, opSelCount = unsigned(list(argument).size());
    else if (name == "op_sel_hi")
      inst.opSelHi = bitList(argument);
    else if (name == "neg_lo" || name == "neg")
      inst.negLo = bitList(argument);
    else if (name == "neg_hi")
      inst.negHi = bitList(argument);
    else if (name == "byte_sel")
      inst.opSel = uint8_t(value << 2);
    else if (name == "bitop3")
      inst.truthTable = uint8_t(value);
    else if (name == "cbsz")
      inst.cbsz = uint8_t(value);
    else if (name == "abid")
      inst.abid = uint8_t(value);
    else if (name == "blgp")
      inst.blgp = uint8_t(value);
    else if (name == "offset")
      inst.offset = isNumber ? int32_t(value) : inst.immediate; // ds_swizzle names its pattern
    else if (name == "offset0")
      inst.offset0 = int32_t(value);
    else if (name == "offset1")
      inst.offset1 = int32_t(value);
    else if (name == "offen")
      inst.offen = true;
    else if (name == "idxen")
      inst.idxen = true;
    else if (name == "lds")
      inst.access.toLds = true;
    else if (name == "sc0" || name == "glc")
      inst.access.returns = true;
    else if (name == "th")
      inst.access.returns |= argument.contains("ATOMIC_RETURN") || argument.contains("ATOMIC_NT_RETURN");
    else if (name == "dst_sel")
      inst.operands[0].select = selection(argument);
    else if (name == "dst_unused")
      inst.preserve = argument == "UNUSED_PRESERVE", inst.signExtendUnused = argument == "UNUSED_SEXT";
    else if (name == "src0_sel")
      inst.operands[destinations].select = selection(argument);
    else if (name == "src1_sel")
      inst.operands[destinations + 1].select = selection(argument);
    else if (name == "row_mask")
      lanes(&Dpp::rowsAndBanks) &= rowsOf(value);
    else if (name == "bank_mask")
      lanes(&Dpp::rowsAndBanks) &= banksOf(value);
    else if (name == "bound_ctrl")
      lanes(&Dpp::boundControl) = true;
    else if (name == "fi")
      lanes(&Dpp::fetchInactive) = value != 0;
    else if (Dpp known; permutation(name, argument, known))
      lanes(&Dpp::from) = known.from;
    else // what concerns caches and timing
      return llvm::StringSwitch<bool>(name)
                 .Cases({"slc", "dlc", "sc1", "nt", "scope", "wait_exp", "wait_vdst", "wait_va_vdst", "wait_vm_vsrc"},
                        true)
                 .Default(false) ||
             StringRef(inst.mnemonic).starts_with("s_");
    return true;
  }

  template <class T> T &lanes(T Dpp::*member) {
    if (!dpp)
      dpp = std::make_unique<Dpp>();
    return (*dpp).*member;
  }

  void finish() {
    const StringRef name = inst.mnemonic;
    if (dpp && inst.operandCount > destinations)
      inst.operands[destinations].permuted = true;
    // op_sel of instructions that are not packed: halves of 16-bit operands, the last one that of the result
    const bool ownMeaning = name.starts_with("v_pk_") || name.starts_with("v_dot") || name.starts_with("v_fma_mix") ||
                            name.starts_with("v_permlane") || name.starts_with("v_cvt_sr_fp8") ||
                            name.starts_with("v_cvt_sr_bf8") || name.starts_with("v_wmma") ||
                            name.starts_with("v_mfma") || name == "v_cvt_f32_fp8" || name == "v_cvt_f32_bf8";
    if (inst.hasOpSel && !ownMeaning)
      for (unsigned i = 0; i < opSelCount; ++i) {
        const unsigned index =
            i + 1 == opSelCount && opSelCount > 1 && i + destinations >= inst.operandCount ? 0 : i + destinations;
        if (index < inst.operandCount && inst.opSel >> i & 1)
          inst.operands[index].high = true;
      }
  }

  WaveInstruction &inst;
  const Generation generation;
  unsigned destinations = 1, opSelCount = 0;
  bool tooMany = false;
  std::unique_ptr<Dpp> dpp;
};

} // namespace

std::string sectile::emulate::parseInstruction(StringRef text, Generation generation, WaveInstruction &result,
                                               std::vector<std::unique_ptr<Dpp>> &permutations) {
  return Parser(result, generation).parse(text, permutations);
}
