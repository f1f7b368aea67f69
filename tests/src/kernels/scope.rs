//! Scope numbers, as kernels take them.

/// One thread: number 0 of the grid.
pub const THREAD: u32 = 0;
/// One warp: the first of the grid.
pub const WARP: u32 = 1;
/// One block: the first of the grid.
pub const BLOCK: u32 = 2;
/// The grid.
pub const GRID: u32 = 3;
/// Two warps: the first of the grid.
pub const WARPS: u32 = 4;
/// All of them, with their names.
pub const ALL: [(u32, &str); 5] =
    [(THREAD, "thread"), (WARP, "warp"), (WARPS, "warps"), (BLOCK, "block"), (GRID, "grid")];

/// Calls `$op` on the scope number `$scope`, by exactly the threads that belong to the first such scope.
macro_rules! at_scope {
    ($shmem:expr, $scope:expr, |$s:ident| $op:expr) => {{
        let first_block = oxshmem_device::thread::block() == 0;
        let thread = oxshmem_device::thread::in_block();
        match $scope {
            $crate::kernels::scope::THREAD => {
                if first_block && thread == 0 {
                    let $s = $shmem.thread();
                    $op
                }
            }
            $crate::kernels::scope::WARP => {
                if first_block && thread < 32 {
                    let $s = $shmem.warp();
                    $op
                }
            }
            $crate::kernels::scope::WARPS => {
                if first_block {
                    let $s = $shmem.warps(2);
                    if thread < 64 {
                        $op
                    }
                }
            }
            $crate::kernels::scope::BLOCK => {
                if first_block {
                    let $s = $shmem.block();
                    $op
                }
            }
            _ => {
                let $s = $shmem.grid();
                $op
            }
        }
    }};
}
pub(crate) use at_scope;
