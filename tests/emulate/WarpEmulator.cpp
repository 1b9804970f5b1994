#include "tests/emulate/WarpEmulator.h"

#include "tests/emulate/Fiber.h"
#include "tests/emulate/Instructions.h"

#include "compiler/ir/DiagnosticLog.h"
#include "compiler/targets/Pipelines.h"

#include "sectile/Error.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Target/LLVMIR/Export.h"

#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/AttributeMask.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/TargetSelect.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>
#include <random>

using namespace sectile;
using namespace sectile::emulate;

namespace {

constexpr size_t sharedBytes = size_t{256} << 10;

/// One thread of the block.
struct Thread {
  enum class State { ready, atWarp, atBarrier, done };
  Fiber fiber;
  AsyncCopies copies;
  int index = 0;
  State state = State::ready;
};
using State = Thread::State;

/// 32 threads, and the instruction that they meet at.
struct Warp {
  WarpState operands;
  int arrived = 0;
};

} // namespace

struct BlockProgram::Impl {
  std::unique_ptr<llvm::orc::LLJIT> jit;
  void (*entry)(const int64_t *words) = nullptr;
  int threadCount = 0;
  std::vector<char> memory = std::vector<char>(sharedBytes + 1024);
  std::vector<WarpInstruction> warpInstructions;
  std::vector<ThreadInstruction> threadInstructions;

  // --- while it runs ---
  std::vector<Thread> threads;
  std::vector<Warp> warps;
  Thread *current = nullptr;
  const int64_t *words = nullptr;
  int64_t block = 0;
  std::string failure;

  char *shared() { return memory.data() + (1024 - reinterpret_cast<uintptr_t>(memory.data()) % 1024); }
  void pause(State state) {
    current->state = state;
    current->fiber.pause();
  }
  void execute(int32_t id, const uint32_t *in, uint32_t *out);
  void executeInWarp(const WarpInstruction &instruction, const uint32_t *in, uint32_t *out);
  /// Runs an instruction; a failure ends the launch once all threads have ended.
  template <class F> void attempt(F f) {
    try {
      f();
    } catch (const std::exception &error) {
      if (failure.empty())
        failure = error.what();
    }
  }
  void runBlock(std::mt19937 &random);
  void runToBarrier(size_t warp, std::mt19937 &random);
};

// What compiled code calls. Instructions are numbered as they are met; those of the machine itself are negative.
enum Special : int32_t { threadIndex = -1, blockIndex = -2, barrier = -3 };

static void executeFromCode(void *impl, int32_t id, const uint32_t *in, uint32_t *out) {
  static_cast<BlockProgram::Impl *>(impl)->execute(id, in, out);
}

void BlockProgram::Impl::execute(int32_t id, const uint32_t *in, uint32_t *out) {
  switch (id) {
  case threadIndex:
    out[0] = current->index;
    return;
  case blockIndex:
    out[0] = static_cast<uint32_t>(block);
    return;
  case barrier:
    pause(State::atBarrier);
    return;
  default:
    break;
  }
  if (id % 2 == 0)
    attempt([&] { threadInstructions[id / 2](current->copies, in, out); });
  else
    executeInWarp(warpInstructions[id / 2], in, out);
}

/// By the last thread that arrives, for all.
void BlockProgram::Impl::executeInWarp(const WarpInstruction &instruction, const uint32_t *in, uint32_t *out) {
  const int lane = current->index % warpSize, first = current->index - lane;
  Warp &warp = warps[first / warpSize];
  warp.operands.in[lane] = in;
  warp.operands.out[lane] = out;
  if (++warp.arrived < warpSize) {
    pause(State::atWarp);
    return;
  }
  attempt([&] { instruction(warp.operands); });
  warp.arrived = 0;
  for (int i = first; i < first + warpSize; ++i)
    threads[i].state = State::ready;
}

/// Lanes one after another, from one instruction of the warp to the next, each time in another order.
void BlockProgram::Impl::runToBarrier(size_t warp, std::mt19937 &random) {
  for (bool any = true; any;) {
    any = false;
    const size_t order = random() % warpSize;
    for (size_t i = 0; i < warpSize; ++i) {
      Thread &thread = threads[warp * warpSize + (i ^ order)];
      if (thread.state != State::ready)
        continue;
      any = true;
      current = &thread;
      thread.fiber.resume();
    }
  }
  if (warps[warp].arrived > 0)
    throw InternalError("threads of a warp wait at an instruction for others that wait at a barrier or have ended");
}

void BlockProgram::Impl::runBlock(std::mt19937 &random) {
  std::memset(memory.data(), 0xff, memory.size()); // what nobody wrote is NaN
  warps.assign(threads.size() / warpSize, {});
  for (Thread &thread : threads) {
    thread.state = State::ready;
    thread.copies = {};
    thread.fiber.start([this, &thread] {
      entry(words);
      thread.state = State::done;
    });
  }
  std::vector<size_t> order(warps.size());
  std::iota(order.begin(), order.end(), 0);
  for (size_t done = 0; done < threads.size();) {
    std::shuffle(order.begin(), order.end(), random);
    for (size_t warp : order)
      runToBarrier(warp, random);
    done = std::ranges::count(threads, State::done, &Thread::state);
    if (done != 0 && done != threads.size())
      throw InternalError("threads end while others wait at a barrier");
    if (done == 0)
      for (Thread &thread : threads)
        thread.state = State::ready;
  }
  if (!failure.empty())
    throw InternalError(std::exchange(failure, ""));
}

/// Returns the bits where a bf16 is returned: in the low half of a vector register.
static float truncateToBf16(float x) {
  uint32_t bits = 0;
  AsyncCopies none;
  (*threadInstruction("round 1 to bf16"))(none, reinterpret_cast<const uint32_t *>(&x), &bits);
  return std::bit_cast<float>(bits);
}

//===-- from LLVM IR to code of the host ------------------------------------------------------------------------===//

/// Makes an instruction a call of execute(): operands and results through memory, in words.
static void replaceByCall(llvm::Instruction &instruction, llvm::ArrayRef<llvm::Value *> operands, int32_t id,
                          llvm::Value *callee, llvm::Value *machine) {
  llvm::LLVMContext &context = instruction.getContext();
  llvm::IRBuilder<> entry(&*instruction.getFunction()->getEntryBlock().getFirstInsertionPt());
  llvm::IRBuilder<> builder(&instruction);
  llvm::Type *i32 = builder.getInt32Ty(), *pointer = builder.getPtrTy();
  constexpr unsigned most = 24;
  llvm::Value *in = entry.CreateAlloca(llvm::ArrayType::get(i32, most)),
              *out = entry.CreateAlloca(llvm::ArrayType::get(i32, most));
  unsigned word = 0;
  for (llvm::Value *operand : operands) {
    llvm::Value *place = builder.CreateConstGEP1_32(i32, in, word);
    if (operand->getType()->isPointerTy()) {
      operand = builder.CreatePtrToInt(operand, builder.getInt64Ty());
      ++word;
    }
    builder.CreateAlignedStore(operand, place, llvm::Align(4));
    ++word;
  }
  auto *type = llvm::FunctionType::get(llvm::Type::getVoidTy(context), {pointer, i32, pointer, pointer}, false);
  builder.CreateCall(type, callee, {machine, builder.getInt32(id), in, out});
  if (!instruction.getType()->isVoidTy())
    instruction.replaceAllUsesWith(builder.CreateAlignedLoad(instruction.getType(), out, llvm::Align(4)));
  instruction.eraseFromParent();
}

BlockProgram::BlockProgram(BlockProgram &&) noexcept = default;
BlockProgram::~BlockProgram() = default;

BlockProgram::BlockProgram(const std::string &llvmStage) : impl(std::make_unique<Impl>()) {
  const auto check = [](llvm::Error error) {
    if (error)
      throw InternalError("emulation: " + llvm::toString(std::move(error)));
  };
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  mlir::DialectRegistry registry;
  registerTargetDialects(registry);
  mlir::MLIRContext parsing(registry);
  DiagnosticLog diagnostics(parsing);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(llvmStage, mlir::ParserConfig(&parsing));
  auto context = std::make_unique<llvm::LLVMContext>();
  std::unique_ptr<llvm::Module> ir = module ? mlir::translateModuleToLLVMIR(*module, *context, "kernel") : nullptr;
  if (!ir)
    throw InternalError("emulation: the llvm stage does not translate to LLVM IR: " + diagnostics.text());
  // The host's own conversion to bf16 takes small numbers for 0, so that it may not be used, not even for copies.
  auto host = llvm::orc::JITTargetMachineBuilder::detectHost();
  check(host.takeError());
  host->getFeatures().AddFeature("avx512bf16", false);
  host->getFeatures().AddFeature("avxneconvert", false);
  host->getFeatures().AddFeature("amx-bf16", false);
  host->setCodeGenOptLevel(llvm::CodeGenOptLevel::None); // most of the time would go to that
  auto jit = llvm::orc::LLJITBuilder().setJITTargetMachineBuilder(std::move(*host)).create();
  check(jit.takeError());
  impl->jit = std::move(*jit);
  ir->setTargetTriple(impl->jit->getTargetTriple());
  ir->setDataLayout(impl->jit->getDataLayout());

  // 1. The kernel as a function that takes the address of its words.
  llvm::Function *kernel = nullptr;
  for (llvm::Function &function : *ir)
    if (!function.isDeclaration())
      kernel = &function;
  kernel->setCallingConv(llvm::CallingConv::C);
  kernel->removeParamAttrs(0, llvm::AttributeMask().addAttribute(llvm::Attribute::ByVal));
  kernel->removeFnAttrs(llvm::AttributeMask().addAttribute("nvvm.reqntid"));
  module->walk([&](mlir::Operation *op) {
    if (auto count = op->getAttrOfType<mlir::IntegerAttr>("sectile.threads"))
      impl->threadCount = static_cast<int>(count.getInt());
  });

  // 2. Shared memory.
  llvm::IRBuilder<> builder(*context);
  const auto constantPointer = [&](const void *address, unsigned space) {
    return llvm::ConstantExpr::getIntToPtr(builder.getInt64(reinterpret_cast<uintptr_t>(address)),
                                           builder.getPtrTy(space));
  };
  for (llvm::GlobalVariable &global : llvm::make_early_inc_range(ir->globals())) {
    global.replaceAllUsesWith(constantPointer(impl->shared(), global.getAddressSpace()));
    global.eraseFromParent();
  }

  // 3. Instructions.
  llvm::Value *callee = constantPointer(reinterpret_cast<const void *>(&executeFromCode), 0),
              *machine = constantPointer(impl.get(), 0);
  for (llvm::Instruction &instruction : llvm::make_early_inc_range(llvm::instructions(*kernel))) {
    std::string name;
    llvm::SmallVector<llvm::Value *> operands;
    if (auto *call = llvm::dyn_cast<llvm::CallInst>(&instruction); call && call->getCalledFunction()) {
      name = call->getCalledFunction()->getName().str();
      operands.assign(call->arg_begin(), call->arg_end());
    } else if (auto *cast = llvm::dyn_cast<llvm::FPTruncInst>(&instruction)) {
      auto *vector = llvm::dyn_cast<llvm::FixedVectorType>(cast->getType());
      name = "round " + std::to_string(vector ? vector->getNumElements() : 1) + " to " +
             (cast->getType()->getScalarType()->isBFloatTy() ? "bf16" : "f16");
      operands = {cast->getOperand(0)};
    }
    const bool isMachine =
        llvm::StringRef(name).starts_with("llvm.nvvm.") || llvm::StringRef(name).starts_with("round");
    if (!isMachine)
      continue;
    int32_t id;
    if (name == "llvm.nvvm.read.ptx.sreg.tid.x")
      id = threadIndex;
    else if (name == "llvm.nvvm.read.ptx.sreg.ctaid.x")
      id = blockIndex;
    else if (name == "llvm.nvvm.barrier.cta.sync.aligned.all")
      id = barrier;
    else if (auto ofWarp = warpInstruction(name)) {
      id = static_cast<int32_t>(2 * impl->warpInstructions.size() + 1);
      impl->warpInstructions.push_back(*ofWarp);
    } else if (auto ofThread = threadInstruction(name)) {
      id = static_cast<int32_t>(2 * impl->threadInstructions.size());
      impl->threadInstructions.push_back(*ofThread);
    } else {
      throw InternalError("emulation: there is no instruction " + name);
    }
    replaceByCall(instruction, operands, id, callee, machine);
  }

  // 4. Compiled. Code for bf16 calls a function of the compiler's library.
  llvm::orc::SymbolMap symbols;
  symbols[impl->jit->mangleAndIntern("__truncsfbf2")] = {llvm::orc::ExecutorAddr::fromPtr(&truncateToBf16),
                                                         llvm::JITSymbolFlags::Exported};
  check(impl->jit->getMainJITDylib().define(llvm::orc::absoluteSymbols(std::move(symbols))));
  const std::string symbol = kernel->getName().str();
  check(impl->jit->addIRModule(llvm::orc::ThreadSafeModule(std::move(ir), std::move(context))));
  auto address = impl->jit->lookup(symbol);
  check(address.takeError());
  impl->entry = address->toPtr<void (*)(const int64_t *)>();
}

void BlockProgram::launch(int64_t blocks, const std::vector<int64_t> &words) const {
  impl->words = words.data();
  impl->threads = std::vector<Thread>(impl->threadCount);
  for (int i = 0; i < impl->threadCount; ++i)
    impl->threads[i].index = i;
  std::mt19937 random(1); // a failure can be repeated
  for (impl->block = 0; impl->block < blocks; ++impl->block)
    impl->runBlock(random);
  impl->threads.clear();
}
