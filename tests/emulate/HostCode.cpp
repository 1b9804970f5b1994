#include "tests/emulate/HostCode.h"

#include "tests/emulate/Assembly.h"
#include "tests/emulate/BlockInstructions.h"
#include "tests/emulate/ProductUses.h"

#include "compiler/ir/DiagnosticLog.h"
#include "compiler/targets/Pipelines.h"

#include "sectile/Error.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Target/LLVMIR/Export.h"

#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/AttributeMask.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/TargetSelect.h"

#include <bit>
#include <cstdlib>
#include <utility>

using namespace sectile;
using namespace sectile::warps;

struct HostCode::Jit {
  std::unique_ptr<llvm::orc::LLJIT> jit;
};

void HostCode::Free::operator()(char *memory) const { std::free(memory); }
HostCode::~HostCode() = default;

void HostCode::execute(void *code, int32_t instruction, const uint32_t *in, uint32_t *out) {
  const auto *self = static_cast<HostCode *>(code);
  self->block->execute(self->instructions[instruction], in, out);
}
uint32_t HostCode::resolve(void *code, uint32_t bits) {
  return static_cast<HostCode *>(code)->block->resolveProduct(bits);
}

/// Returns the bits where a bf16 is returned: in the low half of a vector register.
static float truncateToBf16(float x) {
  uint32_t bits = 0;
  AsyncCopies none;
  (*threadInstruction("round 1 to bf16"))(none, reinterpret_cast<const uint32_t *>(&x), &bits);
  return std::bit_cast<float>(bits);
}

static void check(llvm::Error error) {
  if (error)
    throw InternalError("emulation: " + llvm::toString(std::move(error)));
}

//===-- from LLVM IR to code of the host --------------------------------------------------------------------------===//

class HostCode::Builder {
public:
  Builder(HostCode &code, llvm::Function &kernel)
      : code(code), kernel(kernel), context(kernel.getContext()), layout(kernel.getDataLayout()), types(context) {
    llvm::IRBuilder<> entry(&*kernel.getEntryBlock().getFirstInsertionPt());
    for (llvm::AllocaInst **words : {&in, &out})
      *words = entry.CreateAlloca(types.getInt32Ty(), entry.getInt32(0));
  }

  void build() {
    placeShared();
    dropPins();
    resolveProductUses(kernel, [&](llvm::Value *value, llvm::Instruction *before) { return resolved(value, before); });
    for (llvm::Instruction *instruction : instructionsOf<llvm::CallInst, llvm::FPTruncInst>())
      replace(*instruction);
    in->setOperand(0, types.getInt32(wordsIn));
    out->setOperand(0, types.getInt32(wordsOut));
  }

private:
  llvm::Constant *constantPointer(const void *address, unsigned space) {
    return llvm::ConstantExpr::getIntToPtr(types.getInt64(reinterpret_cast<uintptr_t>(address)), types.getPtrTy(space));
  }
  unsigned wordsOf(llvm::Type *type) { return (layout.getTypeStoreSize(type).getFixedValue() + 3) / 4; }

  /// To be erased one by one, with what takes their results apart.
  template <class... Kinds> llvm::SmallVector<llvm::Instruction *> instructionsOf() {
    llvm::SmallVector<llvm::Instruction *> result;
    for (llvm::Instruction &instruction : llvm::instructions(kernel))
      if (llvm::isa<Kinds...>(instruction))
        result.push_back(&instruction);
    return result;
  }

  void placeShared() {
    for (llvm::GlobalVariable &global : llvm::make_early_inc_range(kernel.getParent()->globals())) {
      global.replaceAllUsesWith(constantPointer(code.shared(), global.getAddressSpace()));
      global.eraseFromParent();
    }
  }

  /// Assembly without instructions, whose results are its operands: it only holds the compiler back.
  void dropPins() {
    for (llvm::Instruction *instruction : instructionsOf<llvm::CallInst>()) {
      auto *call = llvm::cast<llvm::CallInst>(instruction);
      auto *assembly = llvm::dyn_cast<llvm::InlineAsm>(call->getCalledOperand());
      if (!assembly || !assembly->getAsmString().trim().empty())
        continue;
      llvm::SmallVector<llvm::Value *> results(assembly->ParseConstraints().size());
      unsigned argument = 0;
      for (const llvm::InlineAsm::ConstraintInfo &constraint : assembly->ParseConstraints()) {
        if (constraint.Type != llvm::InlineAsm::isInput)
          continue;
        if (unsigned result; !llvm::StringRef(constraint.Codes.front()).getAsInteger(10, result))
          results[result] = call->getArgOperand(argument);
        ++argument;
      }
      replaceResults(*call, [&](unsigned i) {
        if (!results[i])
          throw InternalError("emulation: inline assembly that is empty has results of its own: " +
                              assembly->getConstraintString().str());
        return results[i];
      });
      call->eraseFromParent();
    }
  }

  /// Result i of a call with one or a struct of them, once for each that is used.
  void replaceResults(llvm::CallInst &call, llvm::function_ref<llvm::Value *(unsigned)> result) {
    if (!call.getType()->isStructTy()) {
      if (!call.use_empty())
        call.replaceAllUsesWith(result(0));
      return;
    }
    for (llvm::User *user : llvm::make_early_inc_range(call.users())) {
      auto *extract = llvm::dyn_cast<llvm::ExtractValueInst>(user);
      if (!extract)
        throw InternalError("emulation: a struct of results is used as a whole");
      extract->replaceAllUsesWith(result(extract->getIndices().front()));
      extract->eraseFromParent();
    }
  }

  llvm::Value *resolved(llvm::Value *value, llvm::Instruction *before) {
    llvm::IRBuilder<> builder(before);
    llvm::Type *i32 = builder.getInt32Ty();
    auto *type = llvm::FunctionType::get(i32, {builder.getPtrTy(), i32}, false);
    llvm::Value *bits = builder.CreateCall(type, constantPointer(reinterpret_cast<const void *>(&HostCode::resolve), 0),
                                           {constantPointer(&code, 0), builder.CreateBitCast(value, i32)});
    return builder.CreateBitCast(bits, value->getType());
  }

  /// What the machine has an instruction for becomes a call of it.
  void replace(llvm::Instruction &instruction) {
    llvm::SmallVector<llvm::Value *> operands;
    if (auto *call = llvm::dyn_cast<llvm::CallInst>(&instruction)) {
      operands.assign(call->arg_begin(), call->arg_end());
      if (auto *assembly = llvm::dyn_cast<llvm::InlineAsm>(call->getCalledOperand()))
        return replaceByCall(instruction, operands,
                             readAssembly(assembly->getAsmString().str(), places(*call, *assembly)));
      const llvm::Function *callee = call->getCalledFunction();
      if (callee && callee->getName().starts_with("llvm.nvvm."))
        replaceByCall(instruction, operands, instructionNamed(callee->getName().str()));
    } else if (auto *cast = llvm::dyn_cast<llvm::FPTruncInst>(&instruction)) {
      const auto *vector = llvm::dyn_cast<llvm::FixedVectorType>(cast->getType());
      const bool isBf16 = cast->getType()->getScalarType()->isBFloatTy();
      replaceByCall(instruction, {cast->getOperand(0)},
                    instructionNamed("round " + std::to_string(vector ? vector->getNumElements() : 1) + " to " +
                                     (isBf16 ? "bf16" : "f16")));
    }
  }

  /// Where replaceByCall() puts the operands of assembly.
  std::vector<AsmOperand> places(const llvm::CallInst &call, const llvm::InlineAsm &assembly) {
    std::vector<AsmOperand> result;
    const auto *results = llvm::dyn_cast<llvm::StructType>(call.getType());
    unsigned argument = 0;
    int wordIn = 0, wordOut = 0;
    for (const llvm::InlineAsm::ConstraintInfo &constraint : assembly.ParseConstraints()) {
      if (constraint.Type == llvm::InlineAsm::isClobber)
        continue;
      AsmOperand &operand = result.emplace_back();
      if (constraint.Type == llvm::InlineAsm::isOutput) {
        operand.words =
            static_cast<int>(wordsOf(results ? results->getElementType(result.size() - 1) : call.getType()));
        operand.out = std::exchange(wordOut, wordOut + operand.words);
        continue;
      }
      operand.words = static_cast<int>(wordsOf(call.getArgOperand(argument++)->getType()));
      operand.in = std::exchange(wordIn, wordIn + operand.words);
      if (unsigned tied; !llvm::StringRef(constraint.Codes.front()).getAsInteger(10, tied))
        result[tied].in = operand.in;
    }
    return result;
  }

  /// Operands and results go through memory, in words of 32 bits.
  void replaceByCall(llvm::Instruction &instruction, llvm::ArrayRef<llvm::Value *> operands, Instruction machine) {
    llvm::IRBuilder<> builder(&instruction);
    llvm::Type *i32 = builder.getInt32Ty(), *pointer = builder.getPtrTy();
    unsigned word = 0;
    for (llvm::Value *operand : operands) {
      llvm::Type *type = operand->getType();
      if (type->isPointerTy())
        operand = builder.CreatePtrToInt(operand, builder.getInt64Ty());
      else if (type->isIntegerTy() && type->getIntegerBitWidth() < 32)
        operand = builder.CreateZExt(operand, i32);
      builder.CreateAlignedStore(operand, builder.CreateConstGEP1_32(i32, in, word), llvm::Align(4));
      word += wordsOf(operand->getType());
    }
    wordsIn = std::max(wordsIn, word);
    wordsOut = std::max(wordsOut, instruction.getType()->isVoidTy() ? 0 : wordsOf(instruction.getType()));
    auto *type = llvm::FunctionType::get(builder.getVoidTy(), {pointer, i32, pointer, pointer}, false);
    builder.CreateCall(type, constantPointer(reinterpret_cast<const void *>(&HostCode::execute), 0),
                       {constantPointer(&code, 0), builder.getInt32(code.instructions.size()), in, out});
    code.instructions.push_back(std::move(machine));
    if (auto *call = llvm::dyn_cast<llvm::CallInst>(&instruction); call && call->getType()->isStructTy()) {
      auto *results = llvm::cast<llvm::StructType>(call->getType());
      replaceResults(*call, [&](unsigned i) {
        const uint64_t offset = layout.getStructLayout(results)->getElementOffset(i);
        return builder.CreateAlignedLoad(results->getElementType(i),
                                         builder.CreateConstGEP1_32(builder.getInt8Ty(), out, offset), llvm::Align(4));
      });
    } else if (!instruction.getType()->isVoidTy()) {
      instruction.replaceAllUsesWith(builder.CreateAlignedLoad(instruction.getType(), out, llvm::Align(4)));
    }
    instruction.eraseFromParent();
  }

  HostCode &code;
  llvm::Function &kernel;
  llvm::LLVMContext &context;
  const llvm::DataLayout &layout;
  llvm::IRBuilder<> types;
  llvm::AllocaInst *in = nullptr, *out = nullptr; ///< of all instructions, one after another
  unsigned wordsIn = 1, wordsOut = 1;
};

/// The host's own conversion to bf16 takes small numbers for 0, so that it may not be used, not even for copies.
static std::unique_ptr<llvm::orc::LLJIT> hostCompiler() {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  auto host = llvm::orc::JITTargetMachineBuilder::detectHost();
  check(host.takeError());
  for (const char *feature : {"avx512bf16", "avxneconvert", "amx-bf16"})
    host->getFeatures().AddFeature(feature, false);
  host->setCodeGenOptLevel(llvm::CodeGenOptLevel::None); // most of the time would go to that
  auto jit = llvm::orc::LLJITBuilder().setJITTargetMachineBuilder(std::move(*host)).create();
  check(jit.takeError());
  return std::move(*jit);
}

HostCode::HostCode(const std::string &llvmStage)
    : jit(std::make_unique<Jit>()),
      memory(static_cast<char *>(std::aligned_alloc(Block::sharedWindow, Block::sharedWindow))) {
  // 1. To LLVM IR.
  mlir::DialectRegistry registry;
  registerTargetDialects(registry);
  mlir::MLIRContext parsing(registry);
  DiagnosticLog diagnostics(parsing);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(llvmStage, mlir::ParserConfig(&parsing));
  auto context = std::make_unique<llvm::LLVMContext>();
  std::unique_ptr<llvm::Module> ir = module ? mlir::translateModuleToLLVMIR(*module, *context, "kernel") : nullptr;
  if (!ir)
    throw InternalError("emulation: the llvm stage does not translate to LLVM IR: " + diagnostics.text());

  // 2. What the kernel's attributes say.
  constexpr uint32_t mostShared = 227u << 10;
  sharedSize = mostShared;
  module->walk([&](mlir::Operation *op) {
    if (auto count = op->getAttrOfType<mlir::IntegerAttr>("sectile.threads"))
      threadCount = static_cast<int>(count.getInt());
    if (auto count = op->getAttrOfType<mlir::IntegerAttr>("nvvm.maxnreg"))
      registerCount = static_cast<uint32_t>(count.getInt());
    persistent |= op->hasAttr("sectile.persistent");
    if (auto bytes = op->getAttrOfType<mlir::IntegerAttr>("sectile.shared_bytes"))
      sharedSize = static_cast<uint32_t>(bytes.getInt());
    if (auto all = op->getAttrOfType<mlir::ArrayAttr>("sectile.tensor_maps"))
      for (auto map : all.getAsRange<mlir::DictionaryAttr>()) {
        const auto field = [&](llvm::StringRef name) {
          return static_cast<uint32_t>(map.getAs<mlir::IntegerAttr>(name).getInt());
        };
        maps.push_back({field("parameter"), field("rows"), field("columns"), field("swizzle")});
      }
  });

  // 3. The kernel as a function of the host that takes the address of its words.
  jit->jit = hostCompiler();
  ir->setTargetTriple(jit->jit->getTargetTriple());
  ir->setDataLayout(jit->jit->getDataLayout());
  llvm::Function *kernel = nullptr;
  for (llvm::Function &function : *ir)
    if (!function.isDeclaration())
      kernel = &function;
  kernel->setCallingConv(llvm::CallingConv::C);
  kernel->removeParamAttrs(0, llvm::AttributeMask().addAttribute(llvm::Attribute::ByVal));
  kernel->removeFnAttrs(llvm::AttributeMask().addAttribute("nvvm.reqntid"));
  Builder(*this, *kernel).build();

  // 4. Compiled. Code for bf16 calls a function of the compiler's library.
  llvm::orc::SymbolMap symbols;
  symbols[jit->jit->mangleAndIntern("__truncsfbf2")] = {llvm::orc::ExecutorAddr::fromPtr(&truncateToBf16),
                                                        llvm::JITSymbolFlags::Exported};
  check(jit->jit->getMainJITDylib().define(llvm::orc::absoluteSymbols(std::move(symbols))));
  const std::string symbol = kernel->getName().str();
  check(jit->jit->addIRModule(llvm::orc::ThreadSafeModule(std::move(ir), std::move(context))));
  auto address = jit->jit->lookup(symbol);
  check(address.takeError());
  entry = address->toPtr<void (*)(const void *)>();
}
