//! libibverbs and libmlx5, and their functions.

use super::abi::{
    IbvAsyncEvent, IbvContext, IbvCq, IbvDevice, IbvDeviceAttr, IbvGidEntry, IbvMr, IbvPd, IbvPortAttr,
    IbvQp, IbvQpAttr, IbvQpInitAttr,
};
use super::dv::{ContextAttr, DevxEventChannel, DevxObj, DevxUar, DevxUmem, DevxUmemIn, Obj};
use super::error::{Result, VerbsError};
use libloading::os::unix::{Library as Handle, RTLD_GLOBAL, RTLD_NOW};
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::OnceLock;

const VERBS: &str = "libibverbs.so.1";
const MLX5: &str = "libmlx5.so.1";

/// Declares the functions with their types and looks each up by its name.
macro_rules! functions {
    ($(#[$about:meta])* $name:ident in $file:ident { $($function:ident ( $($argument:ty),* ) $(-> $result:ty)?;)* }
     optional { $($newer:ident ( $($newer_argument:ty),* ) -> $newer_result:ty;)* }) => {
        $(#[$about])*
        #[expect(missing_docs, reason = "they are the library's own functions")]
        #[derive(Debug)]
        pub struct $name {
            $(pub $function: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
            $(pub $newer: Option<unsafe extern "C" fn($($newer_argument),*) -> $newer_result>,)*
        }

        impl $name {
            fn find(library: &Handle) -> Result<Self> {
                Ok($name {
                    $($function: {
                        let name = concat!(stringify!($function), "\0");
                        // SAFETY: the type is that of the header.
                        match unsafe { library.get(name.as_bytes()) } {
                            Ok(function) => *function,
                            Err(_) => {
                                let function = stringify!($function);
                                return Err(VerbsError::OldLibrary { library: $file, function });
                            }
                        }
                    },)*
                    $($newer: {
                        let name = concat!(stringify!($newer), "\0");
                        // SAFETY: the type is that of the header.
                        unsafe { library.get(name.as_bytes()) }.ok().map(|function| *function)
                    },)*
                })
            }
        }
    };
}

functions! {
    /// Functions of libibverbs.
    Verbs in VERBS {
        ibv_get_device_list(*mut c_int) -> *mut *mut IbvDevice;
        ibv_free_device_list(*mut *mut IbvDevice);
        ibv_get_device_name(*mut IbvDevice) -> *const c_char;
        ibv_close_device(*mut IbvContext) -> c_int;
        ibv_query_device(*mut IbvContext, *mut IbvDeviceAttr) -> c_int;
        ibv_query_port(*mut IbvContext, u8, *mut IbvPortAttr) -> c_int;
        ibv_query_pkey(*mut IbvContext, u8, c_int, *mut u16) -> c_int;
        ibv_alloc_pd(*mut IbvContext) -> *mut IbvPd;
        ibv_dealloc_pd(*mut IbvPd) -> c_int;
        ibv_reg_mr(*mut IbvPd, *mut c_void, usize, c_int) -> *mut IbvMr;
        ibv_dereg_mr(*mut IbvMr) -> c_int;
        ibv_create_cq(*mut IbvContext, c_int, *mut c_void, *mut c_void, c_int) -> *mut IbvCq;
        ibv_destroy_cq(*mut IbvCq) -> c_int;
        ibv_create_qp(*mut IbvPd, *mut IbvQpInitAttr) -> *mut IbvQp;
        ibv_modify_qp(*mut IbvQp, *mut IbvQpAttr, c_int) -> c_int;
        ibv_destroy_qp(*mut IbvQp) -> c_int;
        ibv_get_async_event(*mut IbvContext, *mut IbvAsyncEvent) -> c_int;
        ibv_ack_async_event(*mut IbvAsyncEvent);
    }
    optional {
        ibv_reg_dmabuf_mr(*mut IbvPd, u64, usize, u64, c_int, c_int) -> *mut IbvMr;
        _ibv_query_gid_ex(*mut IbvContext, u32, u32, *mut IbvGidEntry, u32, usize) -> c_int;
    }
}

functions! {
    /// Functions of libmlx5.
    Mlx5 in MLX5 {
        mlx5dv_is_supported(*mut IbvDevice) -> bool;
        mlx5dv_open_device(*mut IbvDevice, *mut ContextAttr) -> *mut IbvContext;
        mlx5dv_init_obj(*mut Obj, u64) -> c_int;
        mlx5dv_devx_general_cmd(*mut IbvContext, *const c_void, usize, *mut c_void, usize) -> c_int;
        mlx5dv_devx_obj_create(*mut IbvContext, *const c_void, usize, *mut c_void, usize) -> *mut DevxObj;
        mlx5dv_devx_obj_query(*mut DevxObj, *const c_void, usize, *mut c_void, usize) -> c_int;
        mlx5dv_devx_obj_modify(*mut DevxObj, *const c_void, usize, *mut c_void, usize) -> c_int;
        mlx5dv_devx_obj_destroy(*mut DevxObj) -> c_int;
        mlx5dv_devx_umem_reg(*mut IbvContext, *mut c_void, usize, u32) -> *mut DevxUmem;
        mlx5dv_devx_umem_dereg(*mut DevxUmem) -> c_int;
        mlx5dv_devx_alloc_uar(*mut IbvContext, u32) -> *mut DevxUar;
        mlx5dv_devx_free_uar(*mut DevxUar);
        mlx5dv_devx_query_eqn(*mut IbvContext, u32, *mut c_uint) -> c_int;
        mlx5dv_devx_create_event_channel(*mut IbvContext, c_int) -> *mut DevxEventChannel;
        mlx5dv_devx_destroy_event_channel(*mut DevxEventChannel);
        mlx5dv_devx_subscribe_devx_event(*mut DevxEventChannel, *mut DevxObj, u16, *mut u16, u64) -> c_int;
        mlx5dv_devx_get_event(*mut DevxEventChannel, *mut c_void, usize) -> isize;
    }
    optional {
        mlx5dv_devx_umem_reg_ex(*mut IbvContext, *mut DevxUmemIn) -> *mut DevxUmem;
    }
}

/// Both libraries. They stay in the process: their own threads and exit handlers do not expect to go.
#[derive(Debug)]
pub struct Library {
    /// libibverbs.
    pub verbs: Verbs,
    /// libmlx5.
    pub mlx5: Mlx5,
}

static LIBRARY: OnceLock<Library> = OnceLock::new();

impl Library {
    /// The libraries, which are looked up at the first call that finds them.
    ///
    /// # Errors
    /// [`NoLibrary`](VerbsError::NoLibrary), [`OldLibrary`](VerbsError::OldLibrary).
    pub fn load() -> Result<&'static Library> {
        if let Some(library) = LIBRARY.get() {
            return Ok(library);
        }
        // libmlx5 registers itself with the libibverbs that it finds in the process.
        let (verbs_file, mlx5_file) = (open(VERBS)?, open(MLX5)?);
        let library = Library { verbs: Verbs::find(&verbs_file)?, mlx5: Mlx5::find(&mlx5_file)? };
        // Both are never unloaded.
        let _ = (verbs_file.into_raw(), mlx5_file.into_raw());
        Ok(LIBRARY.get_or_init(|| library))
    }
}

fn open(library: &'static str) -> Result<Handle> {
    // SAFETY: loading runs the library's initializers, which are made for that. It is loaded for all, so that the
    // provider that libibverbs looks up itself meets the libmlx5 that is loaded here.
    unsafe { Handle::open(Some(library), RTLD_NOW | RTLD_GLOBAL) }
        .map_err(|error| VerbsError::NoLibrary { library, why: because(&error) })
}

/// What the loader itself says.
fn because(error: &libloading::Error) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_that_is_not_there_says_what_to_install() {
        let error = open("liboxshmem-is-not-there.so.1").unwrap_err();
        assert!(
            matches!(&error, VerbsError::NoLibrary { why, .. } if why.contains("cannot open")),
            "{error:?}"
        );
        assert!(error.to_string().contains("install rdma-core's libraries"), "{error}");
    }

    #[test]
    fn a_library_that_lacks_a_function_is_too_old() {
        // The C library is in every process, and has none of them.
        let other = open("libc.so.6").unwrap();
        let error = Verbs::find(&other).unwrap_err();
        assert!(
            matches!(error, VerbsError::OldLibrary { library: VERBS, function: "ibv_get_device_list" }),
            "{error:?}"
        );
        let error = Mlx5::find(&other).unwrap_err();
        assert!(
            matches!(error, VerbsError::OldLibrary { library: MLX5, function: "mlx5dv_is_supported" }),
            "{error:?}"
        );
    }
}
