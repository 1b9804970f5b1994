// RUN: sectile-opt %s -split-input-file -verify-diagnostics --sectile-check-rings

// A ring: who does what to a stage, and when.
!view = !tile.view<2xbf16>
!ring = !block.shared<2x64x64xbf16, step = 1, span = 8>
!stage = !block.shared<64x64xbf16, step = 1, span = 8>
block.kernel @not_acquired(%x: !view {tile.bulk}) attributes {warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  // expected-note@+1 {{the ring}}
  %ring = block.alloc : !ring
  // expected-error@+1 {{op copies iteration 0 of a ring into a stage that was not acquired: others may still read it}}
  block.copy_bulk %x[%c0, %c0] -> %ring[%c0] : !view -> !ring
  %K = block.wait_full %ring[%c0] : !ring -> !stage
  block.release %ring[%c0] : !ring
  block.return
}

// -----

!view = !tile.view<2xbf16>
!ring = !block.shared<2x64x64xbf16, step = 1, span = 8>
!stage = !block.shared<64x64xbf16, step = 1, span = 8>
block.kernel @late(%x: !view {tile.bulk}) attributes {warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  // expected-note@+1 {{the ring}}
  %ring = block.alloc : !ring
  // expected-error@+1 {{op copies iteration 0 of a ring into a stage that was not acquired: others may still read it}}
  block.copy_bulk %x[%c0, %c0] -> %ring[%c0] : !view -> !ring
  block.acquire %ring[%c0] : !ring
  %K = block.wait_full %ring[%c0] : !ring -> !stage
  block.release %ring[%c0] : !ring
  block.return
}

// -----

!view = !tile.view<2xbf16>
!ring = !block.shared<2x64x64xbf16, step = 1, span = 8>
!stage = !block.shared<64x64xbf16, step = 1, span = 8>
block.kernel @early(%x: !view {tile.bulk}) attributes {warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  // expected-note@+1 {{the ring}}
  %ring = block.alloc : !ring
  block.acquire %ring[%c0] : !ring
  // expected-error@+1 {{op waits for iteration 0 of a ring that is not copied before: it waits forever}}
  %K = block.wait_full %ring[%c0] : !ring -> !stage
  block.copy_bulk %x[%c0, %c0] -> %ring[%c0] : !view -> !ring
  block.release %ring[%c0] : !ring
  block.return
}

// -----

!view = !tile.view<2xbf16>
!ring = !block.shared<2x64x64xbf16, step = 1, span = 8>
!stage = !block.shared<64x64xbf16, step = 1, span = 8>
block.kernel @copied_twice(%x: !view {tile.bulk}) attributes {warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %ring = block.alloc : !ring
  block.acquire %ring[%c0] : !ring
  // expected-note@+1 {{copied here}}
  block.copy_bulk %x[%c0, %c0] -> %ring[%c0] : !view -> !ring
  // expected-error@+1 {{op copies iteration 0 of a ring for the second time}}
  block.copy_bulk %x[%c0, %c0] -> %ring[%c0] : !view -> !ring
  %K = block.wait_full %ring[%c0] : !ring -> !stage
  block.release %ring[%c0] : !ring
  block.return
}

// -----

!view = !tile.view<2xbf16>
!ring = !block.shared<2x64x64xbf16, step = 1, span = 8>
!stage = !block.shared<64x64xbf16, step = 1, span = 8>
block.kernel @not_filled(%x: !view {tile.bulk}) attributes {warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  // expected-note@+1 {{the ring}}
  %ring = block.alloc : !ring
  // expected-error@+1 {{op acquires a stage of a ring that is not filled: who waits for it waits forever}}
  block.acquire %ring[%c0] : !ring
  block.return
}

// -----

!view = !tile.view<2xbf16>
!ring = !block.shared<2x64x64xbf16, step = 1, span = 8>
!stage = !block.shared<64x64xbf16, step = 1, span = 8>
block.kernel @nobody_fills(%x: !view {tile.bulk}) attributes {warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  // expected-note@+1 {{the ring}}
  %ring = block.alloc : !ring
  // expected-error@+1 {{op waits for a ring that nobody fills}}
  %K = block.wait_full %ring[%c0] : !ring -> !stage
  block.release %ring[%c0] : !ring
  block.return
}

// -----

!view = !tile.view<2xbf16>
!ring = !block.shared<2x64x64xbf16, step = 1, span = 8>
!stage = !block.shared<64x64xbf16, step = 1, span = 8>
block.kernel @nobody_waits(%x: !view {tile.bulk}) attributes {warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  // expected-note@+1 {{the ring}}
  %ring = block.alloc : !ring
  block.acquire %ring[%c0] : !ring
  // expected-error@+1 {{op fills a ring that nobody waits for}}
  block.copy_bulk %x[%c0, %c0] -> %ring[%c0] : !view -> !ring
  block.return
}

// -----

!view = !tile.view<2xbf16>
!ring = !block.shared<2x64x64xbf16, step = 1, span = 8>
!stage = !block.shared<64x64xbf16, step = 1, span = 8>
block.kernel @not_waited(%x: !view {tile.bulk}) attributes {warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  // expected-note@+1 {{the ring}}
  %ring = block.alloc : !ring
  block.acquire %ring[%c0] : !ring
  block.copy_bulk %x[%c0, %c0] -> %ring[%c0] : !view -> !ring
  // expected-error@+1 {{op releases iteration 0 of a ring that was not waited for: it may not be there}}
  block.release %ring[%c0] : !ring
  block.return
}

// -----

!view = !tile.view<2xbf16>
!ring = !block.shared<2x64x64xbf16, step = 1, span = 8>
!stage = !block.shared<64x64xbf16, step = 1, span = 8>
block.kernel @around(%x: !view {tile.bulk}) attributes {warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %ring = block.alloc : !ring
  // expected-note@+1 {{handed on here}}
  block.acquire %ring[%c0] : !ring
  block.copy_bulk %x[%c0, %c0] -> %ring[%c0] : !view -> !ring
  %K = block.wait_full %ring[%c0] : !ring -> !stage
  // expected-error@+1 {{op takes a stage of a ring that is handed to and fro: block.wait_full gives it once it is full}}
  %s = block.stage %ring[%c0] : !ring -> !stage
  block.release %ring[%c0] : !ring
  block.return
}

// -----

!view = !tile.view<2xbf16>
!ring = !block.shared<2x64x64xbf16, step = 1, span = 8>
!stage = !block.shared<64x64xbf16, step = 1, span = 8>
block.kernel @twice(%x: !view {tile.bulk}) attributes {warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %ring = block.alloc : !ring
  block.acquire %ring[%c0] : !ring
  block.copy_bulk %x[%c0, %c0] -> %ring[%c0] : !view -> !ring
  %K = block.wait_full %ring[%c0] : !ring -> !stage
  // expected-note@+1 {{released here}}
  block.release %ring[%c0] : !ring
  // expected-error@+1 {{op releases a stage for the second time}}
  block.release %ring[%c0] : !ring
  block.return
}

// -----

#c = #block.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
!view = !tile.view<2xbf16>
!ring = !block.shared<2x64x64xbf16, step = 1, span = 8>
!stage = !block.shared<64x64xbf16, step = 1, span = 8>
block.kernel @read_after(%x: !view {tile.bulk}) attributes {warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %ring = block.alloc : !ring
  block.acquire %ring[%c0] : !ring
  block.copy_bulk %x[%c0, %c0] -> %ring[%c0] : !view -> !ring
  %K = block.wait_full %ring[%c0] : !ring -> !stage
  // expected-note@+1 {{released here}}
  block.release %ring[%c0] : !ring
  // expected-error@+1 {{op reads a stage that was released}}
  %r = block.read %K : !stage -> tensor<64x64xbf16, #c>
  block.return
}

// -----

!view = !tile.view<2xbf16>
!ring = !block.shared<2x64x64xbf16, step = 1, span = 8>
!stage = !block.shared<64x64xbf16, step = 1, span = 8>
block.kernel @wait_after(%x: !view {tile.bulk}) attributes {warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %ring = block.alloc : !ring
  block.acquire %ring[%c0] : !ring
  block.copy_bulk %x[%c0, %c0] -> %ring[%c0] : !view -> !ring
  %K = block.wait_full %ring[%c0] : !ring -> !stage
  // expected-note@+1 {{released here}}
  block.release %ring[%c0] : !ring
  // expected-error@+1 {{op waits for a stage that was released}}
  %L = block.wait_full %ring[%c0] : !ring -> !stage
  block.return
}

// -----

!view = !tile.view<2xbf16>
!ring = !block.shared<2x64x64xbf16, step = 1, span = 8>
!stage = !block.shared<64x64xbf16, step = 1, span = 8>
block.kernel @skips(%x: !view {tile.bulk}) attributes {warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  // expected-note@+1 {{the ring}}
  %ring = block.alloc : !ring
  // expected-error@+1 {{op acquires iteration 1 of a ring, where 0 comes next: rings count from 0, one by one}}
  block.acquire %ring[%c1] : !ring
  block.return
}

// -----

!view = !tile.view<2xbf16>
!ring = !block.shared<2x64x64xbf16, step = 1, span = 8>
!stage = !block.shared<64x64xbf16, step = 1, span = 8>
block.kernel @wait_skips(%x: !view {tile.bulk}, %n: i32) attributes {warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  // expected-note@+1 {{the ring}}
  %ring = block.alloc : !ring
  scf.for %j = %c0 to %n step %c1 : i32 {
    block.acquire %ring[%j] : !ring
    block.copy_bulk %x[%c0, %c0] -> %ring[%j] : !view -> !ring
    %next = arith.addi %j, %c1 : i32
    // expected-error@+1 {{op waits for iteration 1 of a ring, where 0 comes next: rings count from 0, one by one}}
    %K = block.wait_full %ring[%next] : !ring -> !stage
  }
  block.return
}

// -----

// Around an outer loop a ring counts on.
!view = !tile.view<2xbf16>
!ring = !block.shared<2x64x64xbf16, step = 1, span = 8>
!stage = !block.shared<64x64xbf16, step = 1, span = 8>
block.kernel @restarts(%x: !view {tile.bulk}, %n: i32) attributes {warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  // expected-note@+1 {{the ring}}
  %ring = block.alloc : !ring
  scf.for %t = %c0 to %n step %c1 : i32 {
    scf.for %j = %c0 to %n step %c1 : i32 {
      // expected-error@+1 {{op acquires iteration 0 of a ring, where 5 comes next: rings count from 0, one by one}}
      block.acquire %ring[%j] : !ring
      block.copy_bulk %x[%c0, %c0] -> %ring[%j] : !view -> !ring
      %K = block.wait_full %ring[%j] : !ring -> !stage
      block.release %ring[%j] : !ring
    }
  }
  block.return
}

// -----

!view = !tile.view<2xbf16>
!ring = !block.shared<2x64x64xbf16, step = 1, span = 8>
!stage = !block.shared<64x64xbf16, step = 1, span = 8>
block.kernel @never_released(%x: !view {tile.bulk}) attributes {warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  // expected-note@+1 {{the ring}}
  %ring = block.alloc : !ring
  block.acquire %ring[%c0] : !ring
  block.copy_bulk %x[%c0, %c0] -> %ring[%c0] : !view -> !ring
  // expected-error@+1 {{op waits for a stage that is never released: its producer waits forever}}
  %K = block.wait_full %ring[%c0] : !ring -> !stage
  block.return
}

// -----

// Each pass releases what the one before waited for; the last is forgotten.
!view = !tile.view<2xbf16>
!ring = !block.shared<2x64x64xbf16, step = 1, span = 8>
!stage = !block.shared<64x64xbf16, step = 1, span = 8>
block.kernel @last(%x: !view {tile.bulk}, %n: i32) attributes {warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  // expected-note@+1 {{the ring}}
  %ring = block.alloc : !ring
  scf.for %j = %c0 to %n step %c1 : i32 {
    block.acquire %ring[%j] : !ring
    block.copy_bulk %x[%c0, %c0] -> %ring[%j] : !view -> !ring
    // expected-error@+1 {{op waits for a stage that is never released: its producer waits forever}}
    %K = block.wait_full %ring[%j] : !ring -> !stage
    %before = arith.subi %j, %c1 : i32
    %isFirst = arith.cmpi eq, %j, %c0 : i32
    scf.if %isFirst {
    } else {
      block.release %ring[%before] : !ring
    }
  }
  block.return
}

// -----

!view = !tile.view<2xbf16>
!ring = !block.shared<2x64x64xbf16, step = 1, span = 8>
!stage = !block.shared<64x64xbf16, step = 1, span = 8>
block.kernel @holds_all(%x: !view {tile.bulk}, %n: i32) attributes {warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %ring = block.alloc : !ring
  scf.for %j = %c0 to %n step %c1 : i32 {
    // expected-error@+1 {{op acquires iteration 2 of a ring of 2 stages while iteration 0 is not released: it waits forever}}
    block.acquire %ring[%j] : !ring
    block.copy_bulk %x[%c0, %c0] -> %ring[%j] : !view -> !ring
    // expected-note@+1 {{waited for here}}
    %K = block.wait_full %ring[%j] : !ring -> !stage
  }
  block.return
}

// -----

// The stage goes around the loop and is read a pass too late.
#c = #block.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
!view = !tile.view<2xbf16>
!ring = !block.shared<2x64x64xbf16, step = 1, span = 8>
!stage = !block.shared<64x64xbf16, step = 1, span = 8>
block.kernel @carried(%x: !view {tile.bulk}, %n: i32) attributes {warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %ring = block.alloc : !ring
  block.acquire %ring[%c0] : !ring
  block.copy_bulk %x[%c0, %c0] -> %ring[%c0] : !view -> !ring
  %K = block.wait_full %ring[%c0] : !ring -> !stage
  %last = scf.for %j = %c0 to %n step %c1 iter_args(%k = %K) -> (!stage) : i32 {
    // expected-error@+1 {{op reads a stage that was released}}
    %r = block.read %k : !stage -> tensor<64x64xbf16, #c>
    %next = arith.addi %j, %c1 : i32
    block.acquire %ring[%next] : !ring
    block.copy_bulk %x[%c0, %c0] -> %ring[%next] : !view -> !ring
    %L = block.wait_full %ring[%next] : !ring -> !stage
    // expected-note@+1 {{released here}}
    block.release %ring[%next] : !ring
    scf.yield %L : !stage
  }
  block.release %ring[%c0] : !ring
  block.return
}

// -----

// Products in flight.
#c = #block.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
!token = !block.token<tensor<64x64xf32, #c>>
!view = !tile.view<2xbf16>
!ring = !block.shared<2x64x64xbf16, step = 1, span = 8>
!stage = !block.shared<64x64xbf16, step = 1, span = 8>
block.kernel @in_flight(%x: !view {tile.bulk}) attributes {warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %zero = arith.constant dense<0.0> : tensor<64x64xf32, #c>
  %ring = block.alloc : !ring
  block.acquire %ring[%c0] : !ring
  block.copy_bulk %x[%c0, %c0] -> %ring[%c0] : !view -> !ring
  %K = block.wait_full %ring[%c0] : !ring -> !stage
  // expected-note@+1 {{the product}}
  %t = block.dot_async %K, %K, %zero : !stage, !stage, tensor<64x64xf32, #c>
  // expected-error@+1 {{op releases a stage that a product in flight may still read: a block.dot_wait is missing}}
  block.release %ring[%c0] : !ring
  %s = block.dot_wait %t pending 0 : !token
  block.return
}

// -----

#c = #block.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
!view = !tile.view<2xbf16>
!ring = !block.shared<2x64x64xbf16, step = 1, span = 8>
!stage = !block.shared<64x64xbf16, step = 1, span = 8>
block.kernel @never(%x: !view {tile.bulk}) attributes {warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %zero = arith.constant dense<0.0> : tensor<64x64xf32, #c>
  %ring = block.alloc : !ring
  %a = block.alloc : !stage
  // expected-error@+1 {{op is never waited for: its result is nowhere}}
  %t = block.dot_async %a, %a, %zero : !stage, !stage, tensor<64x64xf32, #c>
  block.return
}

// -----

#c = #block.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
!token = !block.token<tensor<64x64xf32, #c>>
!view = !tile.view<2xbf16>
!ring = !block.shared<2x64x64xbf16, step = 1, span = 8>
!stage = !block.shared<64x64xbf16, step = 1, span = 8>
block.kernel @again(%x: !view {tile.bulk}) attributes {warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %zero = arith.constant dense<0.0> : tensor<64x64xf32, #c>
  %ring = block.alloc : !ring
  %a = block.alloc : !stage
  %t = block.dot_async %a, %a, %zero : !stage, !stage, tensor<64x64xf32, #c>
  // expected-note@+1 {{waited for here}}
  %s = block.dot_wait %t pending 0 : !token
  // expected-error@+1 {{op waits for a product for the second time}}
  %u = block.dot_wait %t pending 0 : !token
  block.return
}

// -----

#c = #block.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
!token = !block.token<tensor<64x64xf32, #c>>
!view = !tile.view<2xbf16>
!ring = !block.shared<2x64x64xbf16, step = 1, span = 8>
!stage = !block.shared<64x64xbf16, step = 1, span = 8>
block.kernel @each_pass(%x: !view {tile.bulk}, %n: i32) attributes {warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : tensor<64x64xf32, #c>
  %ring = block.alloc : !ring
  %a = block.alloc : !stage
  %t = block.dot_async %a, %a, %zero : !stage, !stage, tensor<64x64xf32, #c>
  scf.for %j = %c0 to %n step %c1 : i32 {
    // expected-note@+2 {{waited for here}}
    // expected-error@+1 {{op waits for a product for the second time}}
    %s = block.dot_wait %t pending 0 : !token
  }
  block.return
}

// -----

#c = #block.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
!token = !block.token<tensor<64x64xf32, #c>>
!view = !tile.view<2xbf16>
!ring = !block.shared<2x64x64xbf16, step = 1, span = 8>
!stage = !block.shared<64x64xbf16, step = 1, span = 8>
block.kernel @pending(%x: !view {tile.bulk}) attributes {warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %zero = arith.constant dense<0.0> : tensor<64x64xf32, #c>
  %ring = block.alloc : !ring
  %a = block.alloc : !stage
  // expected-note@+1 {{the product}}
  %t = block.dot_async %a, %a, %zero : !stage, !stage, tensor<64x64xf32, #c>
  // expected-error@+1 {{op leaves 1 products pending, this one among them: 0 were begun after it}}
  %s = block.dot_wait %t pending 1 : !token
  block.return
}

// -----

#c = #block.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
!token = !block.token<tensor<64x64xf32, #c>>
!view = !tile.view<2xbf16>
!ring = !block.shared<2x64x64xbf16, step = 1, span = 8>
!stage = !block.shared<64x64xbf16, step = 1, span = 8>
block.kernel @accumulator(%x: !view {tile.bulk}) attributes {warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %zero = arith.constant dense<0.0> : tensor<64x64xf32, #c>
  %ring = block.alloc : !ring
  %a = block.alloc : !stage
  %t0 = block.dot_async %a, %a, %zero : !stage, !stage, tensor<64x64xf32, #c>
  %acc = block.dot_wait %t0 pending 0 : !token
  // expected-note@+1 {{the product}}
  %t = block.dot_async %a, %a, %acc : !stage, !stage, tensor<64x64xf32, #c>
  // expected-error@+1 {{op uses the accumulator of a product in flight: a block.dot_wait gives the sum}}
  %e = math.exp2 %acc : tensor<64x64xf32, #c>
  %s = block.dot_wait %t pending 0 : !token
  block.return
}

// -----

// Roles.
!view = !tile.view<2xbf16>
!ring = !block.shared<2x64x64xbf16, step = 1, span = 8>
!stage = !block.shared<64x64xbf16, step = 1, span = 8>
block.kernel @trips(%x: !view {tile.bulk}, %n: i32) attributes {warps = 8 : i32} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %ring = block.alloc : !ring
  %less = arith.subi %n, %c1 : i32
  block.specialize roles ["producer", "consumer"] warps [4, 4] registers [24, 240] {
    scf.for %j = %c0 to %n step %c1 : i32 {
      block.acquire %ring[%j] : !ring
      // expected-note@+1 {{filled here}}
      block.copy_bulk %x[%c0, %c0] -> %ring[%j] : !view -> !ring
    }
  }, {
    scf.for %j = %c0 to %less step %c1 : i32 {
      // expected-error@+1 {{op waits for 4 iterations of a ring of which 5 are filled}}
      %K = block.wait_full %ring[%j] : !ring -> !stage
      block.release %ring[%j] : !ring
    }
  }
  block.return
}

// -----

!view = !tile.view<2xbf16>
!ring = !block.shared<2x64x64xbf16, step = 1, span = 8>
!stage = !block.shared<64x64xbf16, step = 1, span = 8>
block.kernel @both_fill(%x: !view {tile.bulk}, %n: i32) attributes {warps = 12 : i32} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %ring = block.alloc : !ring
  block.specialize roles ["producer", "another", "consumer"] warps [4, 4, 4] registers [24, 24, 240] {
    scf.for %j = %c0 to %n step %c1 : i32 {
      block.acquire %ring[%j] : !ring
      // expected-note@+1 {{filled here}}
      block.copy_bulk %x[%c0, %c0] -> %ring[%j] : !view -> !ring
    }
  }, {
    scf.for %j = %c0 to %n step %c1 : i32 {
      block.acquire %ring[%j] : !ring
      // expected-error@+1 {{op fills a ring that role 'producer' fills, too}}
      block.copy_bulk %x[%c0, %c0] -> %ring[%j] : !view -> !ring
    }
  }, {
    scf.for %j = %c0 to %n step %c1 : i32 {
      %K = block.wait_full %ring[%j] : !ring -> !stage
      block.release %ring[%j] : !ring
    }
  }
  block.return
}

// -----

#c = #block.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
!view = !tile.view<2xbf16>
!ring = !block.shared<2x64x64xbf16, step = 1, span = 8>
!stage = !block.shared<64x64xbf16, step = 1, span = 8>
#t = #block.layout<register = [[1, 0], [0, 8]], lane = [[2, 0], [4, 0], [0, 1], [0, 2], [0, 4]], warp = [[0, 16], [0, 32]]>
block.kernel @scratch(%x: !view {tile.bulk}) attributes {warps = 8 : i32} {
  %c0 = arith.constant 0 : i32
  %ring = block.alloc : !ring
  // expected-note@+1 {{the roles}}
  block.specialize roles ["producer", "consumer"] warps [4, 4] registers [24, 240] {

  }, {
    %t = arith.constant dense<1.0> : tensor<64x64xf32, #c>
    // expected-error@+1 {{op takes 16384 bytes of scratch memory between barriers of all threads, which in role 'consumer' do not come}}
    %u = block.convert %t : tensor<64x64xf32, #c> -> tensor<64x64xf32, #t>
  }
  block.return
}

// -----

// Nothing is wrong from here on. Bounds that are equal without being seen to be:
!view = !tile.view<2xbf16>
!ring = !block.shared<2x64x64xbf16, step = 1, span = 8>
!stage = !block.shared<64x64xbf16, step = 1, span = 8>
block.kernel @recomputed(%x: !view {tile.bulk}, %n: i32, %h: i32) attributes {warps = 8 : i32} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %ring = block.alloc : !ring
  block.specialize roles ["producer", "consumer"] warps [4, 4] registers [24, 240] {
    %m = arith.muli %n, %h : i32
    scf.for %j = %c0 to %m step %c1 : i32 {
      block.acquire %ring[%j] : !ring
      block.copy_bulk %x[%c0, %c0] -> %ring[%j] : !view -> !ring
    }
  }, {
    %m = arith.muli %n, %h : i32
    %K = block.wait_full %ring[%c0] : !ring -> !stage
    block.release %ring[%c0] : !ring
    scf.for %j = %c1 to %m step %c1 : i32 {
      %L = block.wait_full %ring[%j] : !ring -> !stage
      block.release %ring[%j] : !ring
    }
  }
  block.return
}

// -----

// A condition that nobody knows.
!view = !tile.view<2xbf16>
!ring = !block.shared<2x64x64xbf16, step = 1, span = 8>
!stage = !block.shared<64x64xbf16, step = 1, span = 8>
block.kernel @conditional(%x: !view {tile.bulk}, %n: i32, %h: i32) attributes {warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %ring = block.alloc : !ring
  scf.for %t = %c0 to %n step %c1 : i32 {
    %more = arith.cmpi slt, %t, %h : i32
    scf.if %more {
      block.acquire %ring[%t] : !ring
      block.copy_bulk %x[%c0, %c0] -> %ring[%t] : !view -> !ring
    }
    scf.if %more {
      %K = block.wait_full %ring[%t] : !ring -> !stage
      block.release %ring[%t] : !ring
    }
  }
  block.return
}

// -----

// A ring counts on around an outer loop, by a carried number.
!view = !tile.view<2xbf16>
!ring = !block.shared<2x64x64xbf16, step = 1, span = 8>
!stage = !block.shared<64x64xbf16, step = 1, span = 8>
block.kernel @counts_on(%x: !view {tile.bulk}, %n: i32, %h: i32) attributes {warps = 8 : i32} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %ring = block.alloc : !ring
  block.specialize roles ["producer", "consumer"] warps [4, 4] registers [24, 240] {
    %all = scf.for %t = %c0 to %n step %c1 iter_args(%i = %c0) -> (i32) : i32 {
      %end = scf.for %j = %c0 to %h step %c1 iter_args(%k = %i) -> (i32) : i32 {
        block.acquire %ring[%k] : !ring
        block.copy_bulk %x[%c0, %c0] -> %ring[%k] : !view -> !ring
        %next = arith.addi %k, %c1 : i32
        scf.yield %next : i32
      }
      scf.yield %end : i32
    }
  }, {
    %all = scf.for %t = %c0 to %n step %c1 iter_args(%i = %c0) -> (i32) : i32 {
      %end = scf.for %j = %c0 to %h step %c1 iter_args(%k = %i) -> (i32) : i32 {
        %K = block.wait_full %ring[%k] : !ring -> !stage
        block.release %ring[%k] : !ring
        %next = arith.addi %k, %c1 : i32
        scf.yield %next : i32
      }
      scf.yield %end : i32
    }
  }
  block.return
}

// -----

!view = !tile.view<2xbf16>
!ring = !block.shared<2x64x64xbf16, step = 1, span = 8>
!stage = !block.shared<64x64xbf16, step = 1, span = 8>
block.kernel @begins_anywhere(%x: !view {tile.bulk}, %lo: i32, %n: i32) attributes {warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %ring = block.alloc : !ring
  scf.for %j = %lo to %n step %c1 : i32 {
    %i = arith.subi %j, %lo : i32
    block.acquire %ring[%i] : !ring
    block.copy_bulk %x[%c0, %c0] -> %ring[%i] : !view -> !ring
    %K = block.wait_full %ring[%i] : !ring -> !stage
    block.release %ring[%i] : !ring
  }
  block.return
}

// -----

// More passes than anybody runs on paper.
!view = !tile.view<2xbf16>
!ring = !block.shared<2x64x64xbf16, step = 1, span = 8>
!stage = !block.shared<64x64xbf16, step = 1, span = 8>
block.kernel @long(%x: !view {tile.bulk}) attributes {warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %ring = block.alloc : !ring
  %many = arith.constant 100000 : i32
  scf.for %j = %c0 to %many step %c1 : i32 {
    block.acquire %ring[%j] : !ring
    block.copy_bulk %x[%c0, %c0] -> %ring[%j] : !view -> !ring
    %K = block.wait_full %ring[%j] : !ring -> !stage
    %before = arith.subi %j, %c1 : i32
    %isFirst = arith.cmpi eq, %j, %c0 : i32
    scf.if %isFirst {
    } else {
      block.release %ring[%before] : !ring
    }
  }
  %last = arith.constant 99999 : i32
  block.release %ring[%last] : !ring
  block.return
}
