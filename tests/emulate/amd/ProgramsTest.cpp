// Whole programs for each processor: control flow, LDS, atomics, scratch, calls, lanes.
#include "tests/emulate/amd/CodeObjects.h"

#include <catch2/catch.hpp>

#include <numeric>

using namespace sectile;
using namespace sectile::test;

namespace {

constexpr unsigned threads = 256, groups = 4, count = threads * groups;

const std::string head = R"(
declare i32 @llvm.amdgcn.workgroup.id.x()
declare i32 @llvm.amdgcn.workitem.id.x()
declare void @llvm.amdgcn.s.barrier()
declare i32 @llvm.amdgcn.mbcnt.lo(i32, i32)
attributes #0 = { "amdgpu-flat-work-group-size"="256,256" }
attributes #1 = { noinline "amdgpu-flat-work-group-size"="256,256" }
)";

/// A kernel %A (i32 in), %R (i32 out), with %l (thread), %g (group), %i (index), %a (its element): body sets %r.
std::string kernel(const std::string &body, const std::string &last = "") {
  return "define amdgpu_kernel void @k(ptr addrspace(1) %A, ptr addrspace(1) %R) #0 {\nentry:\n"
         "%g = call i32 @llvm.amdgcn.workgroup.id.x()\n%l = call i32 @llvm.amdgcn.workitem.id.x()\n"
         "%o = mul i32 %g, 256\n%i = add i32 %o, %l\n%pa = getelementptr i32, ptr addrspace(1) %A, i32 %i\n"
         "%a = load i32, ptr addrspace(1) %pa\n" +
         body +
         "\n%pr = getelementptr i32, ptr addrspace(1) %R, i32 %i\nstore i32 %r, ptr addrspace(1) %pr\nret void\n}\n" +
         last;
}

/// Runs it everywhere, in two orders of waves and on two threads, and compares each result.
template <class F> void check(const std::string &ir, F expected) {
  for (const std::string &processor : amdProcessors) {
    auto code = compileIr(processor, head + ir);
    for (uint64_t seed : {0, 7}) {
      std::vector<uint32_t> a(count), r(count, 0xdeadbeef);
      for (unsigned i = 0; i < count; ++i)
        a[i] = (i * 2654435761u) >> 16 & 1023;
      const std::vector<int64_t> arguments{addressOf(a), addressOf(r)};
      const std::vector<emulate::MemoryRange> memory{rangeOf(a, true, "a"), rangeOf(r, true, "r")};
      emulate::Launch launch;
      launch.groups = groups, launch.threads = threads, launch.kernarg = arguments, launch.memory = memory;
      launch.seed = seed, launch.workers = 2;
      const std::vector<uint32_t> before = a;
      INFO(processor);
      auto counters = emulate::run(*code, "k", launch);
      if (!counters)
        FAIL(toString(counters.takeError()));
      unsigned wrong = 0;
      while (wrong < count && r[wrong] == uint32_t(expected(before, wrong, processor[3] == '1' ? 32u : 64u)))
        ++wrong;
      INFO("element " << wrong);
      CHECK(wrong == count);
    }
  }
}
using Data = const std::vector<uint32_t> &;

} // namespace

TEST_CASE("loops whose lanes leave at different times") {
  check(kernel(R"(br label %loop
loop:
  %n = phi i32 [ %a, %entry ], [ %n2, %next ]
  %s = phi i32 [ 0, %entry ], [ %s1, %next ]
  %s1 = add i32 %s, 1
  %done = icmp ule i32 %n, 1
  br i1 %done, label %exit, label %odd
odd:
  %bit = and i32 %n, 1
  %isodd = icmp eq i32 %bit, 1
  br i1 %isodd, label %triple, label %half
triple:
  %m = mul i32 %n, 3
  %m1 = add i32 %m, 1
  br label %next
half:
  %h = lshr i32 %n, 1
  br label %next
next:
  %n2 = phi i32 [ %m1, %triple ], [ %h, %half ]
  br label %loop
exit:
  %r = phi i32 [ %s1, %loop ])"),
        [](Data a, unsigned i, unsigned) {
          unsigned steps = 1;
          for (uint32_t n = a[i]; n > 1; n = n & 1 ? 3 * n + 1 : n / 2)
            ++steps;
          return steps;
        });
}

TEST_CASE("a sum of a group through LDS") {
  check("@lds = internal addrspace(3) global [256 x i32] poison, align 16\n" + kernel(R"(
%mine = getelementptr i32, ptr addrspace(3) @lds, i32 %l
store i32 %a, ptr addrspace(3) %mine
fence syncscope("workgroup") release
call void @llvm.amdgcn.s.barrier()
fence syncscope("workgroup") acquire
br label %loop
loop:
  %d = phi i32 [ 128, %entry ], [ %d2, %join ]
  %in = icmp ult i32 %l, %d
  br i1 %in, label %add, label %join
add:
  %x = add i32 %l, %d
  %po = getelementptr i32, ptr addrspace(3) @lds, i32 %x
  %v = load i32, ptr addrspace(3) %po
  %w = load i32, ptr addrspace(3) %mine
  %sum = add i32 %v, %w
  store i32 %sum, ptr addrspace(3) %mine
  br label %join
join:
  fence syncscope("workgroup") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %d2 = lshr i32 %d, 1
  %more = icmp ne i32 %d2, 0
  br i1 %more, label %loop, label %exit
exit:
  %r = load i32, ptr addrspace(3) @lds)"),
        [](Data a, unsigned i, unsigned) {
          const auto first = a.begin() + i / threads * threads;
          return std::accumulate(first, first + threads, 0u);
        });
}

TEST_CASE("an array in scratch that is indexed by the lane") {
  check(kernel(R"(
%s = alloca [16 x i32], addrspace(5)
br label %fill
fill:
  %j = phi i32 [ 0, %entry ], [ %j1, %fill ]
  %p = getelementptr [16 x i32], ptr addrspace(5) %s, i32 0, i32 %j
  %v = mul i32 %j, %a
  store volatile i32 %v, ptr addrspace(5) %p
  %j1 = add i32 %j, 1
  %more = icmp ult i32 %j1, 16
  br i1 %more, label %fill, label %exit
exit:
  %at = and i32 %l, 15
  %q = getelementptr [16 x i32], ptr addrspace(5) %s, i32 0, i32 %at
  %x = load volatile i32, ptr addrspace(5) %q
  %r = add i32 %x, 1)"),
        [](Data a, unsigned i, unsigned) { return (i % 16) * a[i] + 1; });
}

TEST_CASE("a function that is called") {
  check(kernel("%x = call i32 @twice(i32 %a)\n%r = call i32 @twice(i32 %x)", R"(
define internal i32 @twice(i32 %x) #1 {
  %s = alloca [4 x i32], addrspace(5)
  store volatile i32 %x, ptr addrspace(5) %s
  %y = load volatile i32, ptr addrspace(5) %s
  %r = shl i32 %y, 1
  ret i32 %r
})"),
        [](Data a, unsigned i, unsigned) { return a[i] * 4; });
}

TEST_CASE("atomic accesses to memory and LDS") {
  check("@lds = internal addrspace(3) global [4 x i32] poison, align 16\n" + kernel(R"(
%zero = icmp ult i32 %l, 4
br i1 %zero, label %clear, label %go
clear:
  %c = getelementptr i32, ptr addrspace(3) @lds, i32 %l
  store i32 0, ptr addrspace(3) %c
  br label %go
go:
  fence syncscope("workgroup") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %b = and i32 %l, 3
  %p = getelementptr i32, ptr addrspace(3) @lds, i32 %b
  %old = atomicrmw add ptr addrspace(3) %p, i32 %a syncscope("workgroup") monotonic
  %m = atomicrmw umax ptr addrspace(1) %A, i32 %old syncscope("agent") monotonic
  %e = cmpxchg ptr addrspace(3) %p, i32 -1, i32 7 syncscope("workgroup") monotonic monotonic
  fence syncscope("workgroup") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %r = load i32, ptr addrspace(3) %p)"),
        [](Data a, unsigned i, unsigned) {
          uint32_t sum = 0;
          const unsigned group = i / threads;
          for (unsigned t = i % 4; t < threads; t += 4)
            sum += group == 0 && t == 0 ? 0 : a[group * threads + t];
          if (group == 0 && i % 4 == 0)
            sum += a[0];
          return sum;
        });
}

TEST_CASE("a sum of floats in memory") {
  for (const std::string &processor : amdProcessors) {
    auto code = compileIr(processor, head + R"(
define amdgpu_kernel void @k(ptr addrspace(1) %A, ptr addrspace(1) %R) #0 {
%l = call i32 @llvm.amdgcn.workitem.id.x()
%p = getelementptr float, ptr addrspace(1) %A, i32 %l
%a = load float, ptr addrspace(1) %p
%o = atomicrmw fadd ptr addrspace(1) %R, float %a syncscope("agent") monotonic, !amdgpu.no.fine.grained.memory !0, !amdgpu.no.remote.memory !0, !amdgpu.ignore.denormal.mode !0
ret void
}
!0 = !{})");
    std::vector<float> a(threads, 0.5f), r(1, 0);
    const std::vector<int64_t> arguments{addressOf(a), addressOf(r)};
    const std::vector<emulate::MemoryRange> memory{rangeOf(a, false, "a"), rangeOf(r, true, "r")};
    emulate::Launch launch;
    launch.groups = 64, launch.threads = threads, launch.kernarg = arguments, launch.memory = memory,
    launch.workers = 4;
    auto counters = emulate::run(*code, "k", launch);
    INFO(processor << (counters ? "" : toString(counters.takeError())));
    CHECK(r[0] == 64 * threads * 0.5f);
  }
}

TEST_CASE("values of other lanes") {
  // the sum of a[i] of lanes 0..i of each row of 16, by DPP; lanes that have no source add 0
  const std::string scan = [] {
    std::string text, value = "%a";
    for (int step : {1, 2, 4, 8}) {
      const std::string n = std::to_string(step);
      text += "%d" + n + " = call i32 @llvm.amdgcn.update.dpp.i32(i32 0, i32 " + value + ", i32 " +
              std::to_string(0x110 + step) + ", i32 15, i32 15, i1 false)\n%s" + n + " = add i32 " + value + ", %d" +
              n + "\n";
      value = "%s" + n;
    }
    return text;
  }();
  check(kernel(scan + "%r = add i32 %s8, 0"), [](Data a, unsigned i, unsigned) {
    uint32_t sum = 0;
    for (unsigned j = i / 16 * 16; j <= i; ++j)
      sum += a[j];
    return sum;
  });
  check(kernel("%t = xor i32 %l, 17\n%b = shl i32 %t, 2\n%r = call i32 @llvm.amdgcn.ds.bpermute(i32 %b, i32 %a)"),
        [](Data a, unsigned i, unsigned lanes) { return a[i / lanes * lanes + ((i ^ 17) % lanes)]; });
  check(kernel("%r = call i32 @llvm.amdgcn.ds.swizzle(i32 %a, i32 16415)"), // xor 16 within 32 lanes
        [](Data a, unsigned i, unsigned) { return a[i ^ 16]; });
  check(kernel("%r = call i32 @llvm.amdgcn.readlane.i32(i32 %a, i32 5)"),
        [](Data a, unsigned i, unsigned lanes) { return a[i / lanes * lanes + 5]; });
  check(kernel("%p = icmp ult i32 %a, 500\n%b = call i64 @llvm.amdgcn.ballot.i64(i1 %p)\n%c = call i64 "
               "@llvm.ctpop.i64(i64 %b)\n"
               "%r = trunc i64 %c to i32"),
        [](Data a, unsigned i, unsigned lanes) {
          unsigned n = 0;
          for (unsigned j = 0; j < lanes; ++j)
            n += a[i / lanes * lanes + j] < 500;
          return n;
        });
  check(
      kernel(
          "%q = call i32 @llvm.amdgcn.update.dpp.i32(i32 poison, i32 %a, i32 27, i32 15, i32 15, i1 true)\n" // 3, 2, 1,
                                                                                                             // 0
          "%m = call i32 @llvm.amdgcn.update.dpp.i32(i32 poison, i32 %q, i32 320, i32 15, i32 15, i1 true)\n" // mirror
          "%r = add i32 %m, %q"),
      [](Data a, unsigned i, unsigned) { return a[i ^ 15 ^ 3] + a[i ^ 3]; });
}

TEST_CASE("bytes and halves in memory") {
  check(kernel(R"(
%pb = getelementptr i8, ptr addrspace(1) %A, i32 %i
%b = load i8, ptr addrspace(1) %pb
%ps = getelementptr i16, ptr addrspace(1) %A, i32 %i
%s = load i16, ptr addrspace(1) %ps
%x = sext i8 %b to i32
%y = zext i16 %s to i32
%r = add i32 %x, %y)"),
        [](Data a, unsigned i, unsigned) {
          const auto *bytes = reinterpret_cast<const uint8_t *>(a.data());
          uint16_t s = 0;
          std::memcpy(&s, bytes + 2 * i, 2);
          return uint32_t(int8_t(bytes[i])) + s;
        });
  // Halves of registers: loads keep the other half, stores take one.
  check("@lds = internal addrspace(3) global [512 x i16] poison, align 16\n" + kernel(R"(
%lo = trunc i32 %a to i16
%x = shl i32 %l, 1
%p = getelementptr i16, ptr addrspace(3) @lds, i32 %x
%p1 = getelementptr i16, ptr addrspace(3) %p, i32 1
store i16 %lo, ptr addrspace(3) %p1
%l16 = trunc i32 %l to i16
store i16 %l16, ptr addrspace(3) %p
%h0 = load volatile i16, ptr addrspace(3) %p1
%h1 = load volatile i16, ptr addrspace(3) %p
%v0 = insertelement <2 x i16> poison, i16 %h0, i32 0
%v1 = insertelement <2 x i16> %v0, i16 %h1, i32 1
%w = add <2 x i16> %v1, <i16 1, i16 2>
%r = bitcast <2 x i16> %w to i32)"),
        [](Data a, unsigned i, unsigned) {
          return uint32_t(uint16_t(a[i] + 1)) | uint32_t(uint16_t(i % threads + 2)) << 16;
        });
}

TEST_CASE("a group that does not fill its last wave") {
  for (const std::string &processor : amdProcessors) {
    auto code = compileIr(
        processor,
        "declare i32 @llvm.amdgcn.workitem.id.x()\n"
        "define amdgpu_kernel void @k(ptr addrspace(1) %R) {\n%l = call i32 @llvm.amdgcn.workitem.id.x()\n"
        "%p = getelementptr i32, ptr addrspace(1) %R, i32 %l\nstore i32 %l, ptr addrspace(1) %p\nret void\n}\n");
    std::vector<uint32_t> r(70, 99);
    const std::vector<int64_t> arguments{addressOf(r)};
    const std::vector<emulate::MemoryRange> memory{rangeOf(r, true, "r")};
    emulate::Launch launch;
    launch.threads = 70, launch.kernarg = arguments, launch.memory = memory;
    auto counters = emulate::run(*code, "k", launch);
    INFO(processor << (counters ? "" : toString(counters.takeError())));
    std::vector<uint32_t> expected(70);
    std::iota(expected.begin(), expected.end(), 0);
    CHECK(r == expected);
  }
}
