#include "tests/emulate/WarpEmulator.h"

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

#include <bit>
#include <cstring>
#include <ucontext.h>

using namespace sectile;
using namespace sectile::emulate;

namespace {

constexpr size_t stackBytes = size_t{1} << 20, sharedBytes = size_t{256} << 10;

/// One thread of the block.
struct Fiber {
  ucontext_t context;
  std::vector<char> stack;
  int index = 0;
  bool isDone = false;
};

/// Threads that wait for each other.
struct Meeting {
  int size, arrived = 0;
  int64_t round = 0;
};

} // namespace

struct BlockProgram::Impl {
  std::unique_ptr<llvm::orc::LLJIT> jit;
  void (*entry)(const int64_t *words) = nullptr;
  int threads = 0;
  std::vector<char> memory = std::vector<char>(sharedBytes + 1024);
  std::vector<WarpInstruction> warpInstructions;
  std::vector<ThreadInstruction> threadInstructions;

  // --- while it runs ---
  std::vector<Fiber> fibers;
  std::vector<Meeting> warpMeetings;
  std::vector<WarpState> warpStates;
  Meeting blockMeeting{0};
  ucontext_t scheduler;
  Fiber *current = nullptr;
  const int64_t *words = nullptr;
  int64_t block = 0;
  std::string failure;

  char *shared() { return memory.data() + (1024 - reinterpret_cast<uintptr_t>(memory.data()) % 1024); }
  void yield() { swapcontext(&current->context, &scheduler); }
  void meet(Meeting &meeting, const std::function<void()> &last) {
    const int64_t round = meeting.round;
    if (++meeting.arrived < meeting.size) {
      while (meeting.round == round)
        yield();
      return;
    }
    last();
    meeting.arrived = 0;
    ++meeting.round;
  }
  /// Runs an instruction; a failure ends the launch once all fibers have stopped.
  template <class F> void attempt(F f) {
    try {
      f();
    } catch (const std::exception &error) {
      if (failure.empty())
        failure = error.what();
    }
  }
  void runBlock();
};

// What compiled code calls. Instructions are numbered as they are met; those of the machine itself are negative.
enum Special : int32_t { threadIndex = -1, blockIndex = -2, barrier = -3 };

static void execute(BlockProgram::Impl *impl, int32_t id, const uint32_t *in, uint32_t *out);

static void executeFromCode(void *impl, int32_t id, const uint32_t *in, uint32_t *out) {
  execute(static_cast<BlockProgram::Impl *>(impl), id, in, out);
}

static void execute(BlockProgram::Impl *impl, int32_t id, const uint32_t *in, uint32_t *out) {
  BlockProgram::Impl &machine = *impl;
  const int index = machine.current->index;
  switch (id) {
  case threadIndex:
    out[0] = index;
    return;
  case blockIndex:
    out[0] = static_cast<uint32_t>(machine.block);
    return;
  case barrier:
    machine.meet(machine.blockMeeting, [] {});
    return;
  default:
    break;
  }
  if (id % 2 == 0) {
    machine.attempt([&] { machine.threadInstructions[id / 2](in, out); });
    return;
  }
  const int warp = index / warpSize, lane = index % warpSize;
  WarpState &state = machine.warpStates[warp];
  state.in[lane] = in;
  state.out[lane] = out;
  machine.meet(machine.warpMeetings[warp], [&] { machine.attempt([&] { machine.warpInstructions[id / 2](state); }); });
}

/// Returns the bits where a bf16 is returned: in the low half of a vector register.
static float truncateToBf16(float x) {
  uint32_t bits = 0;
  (*threadInstruction("round to bf16"))(reinterpret_cast<const uint32_t *>(&x), &bits);
  return std::bit_cast<float>(bits);
}

static void startFiber(unsigned low, unsigned high) {
  auto *impl = reinterpret_cast<BlockProgram::Impl *>(static_cast<uintptr_t>(low) | static_cast<uintptr_t>(high) << 32);
  Fiber *self = impl->current;
  impl->entry(impl->words);
  self->isDone = true;
  swapcontext(&self->context, &impl->scheduler);
}

void BlockProgram::Impl::runBlock() {
  std::memset(memory.data(), 0xff, memory.size()); // what nobody wrote is NaN
  blockMeeting = {threads};
  warpMeetings.assign(threads / warpSize, {warpSize});
  warpStates.resize(threads / warpSize);
  fibers.resize(threads);
  const auto self = reinterpret_cast<uintptr_t>(this);
  for (int i = 0; i < threads; ++i) {
    Fiber &fiber = fibers[i];
    fiber.index = i;
    fiber.isDone = false;
    fiber.stack.resize(stackBytes);
    getcontext(&fiber.context);
    fiber.context.uc_stack = {fiber.stack.data(), 0, fiber.stack.size()};
    fiber.context.uc_link = nullptr;
    makecontext(&fiber.context, reinterpret_cast<void (*)()>(startFiber), 2, static_cast<unsigned>(self),
                static_cast<unsigned>(self >> 32));
  }
  for (int running = threads; running > 0;) {
    int done = 0;
    for (Fiber &fiber : fibers)
      if (!fiber.isDone) {
        current = &fiber;
        swapcontext(&scheduler, &fiber.context);
        done += fiber.isDone;
      }
    running -= done;
    const bool isStuck = done > 0 && running > 0 && blockMeeting.arrived > 0;
    if (isStuck)
      throw InternalError("threads end while others wait at a barrier");
  }
  if (!failure.empty())
    throw InternalError(std::exchange(failure, ""));
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
      impl->threads = static_cast<int>(count.getInt());
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
      name = cast->getType()->isBFloatTy() ? "round to bf16" : "round to f16";
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
  for (impl->block = 0; impl->block < blocks; ++impl->block)
    impl->runBlock();
}
