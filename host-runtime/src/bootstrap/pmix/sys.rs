//! The part of the PMIx library that is needed, declared here and looked up when it is (PMIx standard 4, "Client
//! initialization", "Key-value management"; the layouts are those of its header `pmix_common.h`).

use libloading::Library;
use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::ptr::{null, null_mut};

/// Bytes of a namespace's name with its end (`PMIX_MAX_NSLEN`).
const NAMESPACE: usize = 256;
/// `PMIX_RANK_WILDCARD`: the job instead of one of its processes.
pub(super) const JOB: u32 = u32::MAX - 1;
/// `PMIX_GLOBAL`: for all processes.
const GLOBAL: u8 = 3;
const SUCCESS: c_int = 0;
/// `PMIX_ERR_PARTIAL_SUCCESS`.
const PARTIAL_SUCCESS: c_int = -52;

/// `pmix_proc_t`.
#[repr(C)]
struct Process {
    namespace: [c_char; NAMESPACE],
    rank: u32,
}

/// `pmix_value_t`: a kind, and 24 bytes of which the kind says what they hold.
#[repr(C)]
struct Value {
    kind: u16,
    data: [u64; 3],
}

// `pmix_data_type_t`.
const STRING: u16 = 3;
const SIZE: u16 = 4;
const INT: u16 = 6;
const UINT: u16 = 11;
const UINT16: u16 = 13;
const UINT32: u16 = 14;

type Init = unsafe extern "C" fn(*mut Process, *mut c_void, usize) -> c_int;
type Finalize = unsafe extern "C" fn(*const c_void, usize) -> c_int;
type Put = unsafe extern "C" fn(u8, *const c_char, *mut Value) -> c_int;
type Commit = unsafe extern "C" fn() -> c_int;
type Fence = unsafe extern "C" fn(*const Process, usize, *const c_void, usize) -> c_int;
type Get =
    unsafe extern "C" fn(*const Process, *const c_char, *const c_void, usize, *mut *mut Value) -> c_int;
type ErrorString = unsafe extern "C" fn(c_int) -> *const c_char;

/// The library, as a client of the server that the environment names.
pub(super) struct Client {
    finalize: Finalize,
    put: Put,
    commit: Commit,
    fence: Fence,
    get: Get,
    error_string: ErrorString,
    own: Process,
    // The functions are its.
    _library: Library,
}

/// Why there is no client.
pub(super) enum NoClient {
    /// No library, or not this one.
    Library(String),
    /// The server does not answer as it should.
    Server(String),
}

impl Client {
    /// Loads the library, if it is not in this process already, and connects.
    pub(super) fn start(path: &OsStr) -> Result<Self, NoClient> {
        let missing = |error: libloading::Error| {
            let why =
                std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string);
            NoClient::Library(why)
        };
        // SAFETY: a library by the name of PMIx's runs that library's own initialization, which is made for being loaded.
        let library = unsafe { Library::new(path) }.map_err(missing)?;
        // SAFETY: the types are those that the standard gives to these names.
        let (init, client) = unsafe {
            let init = *library.get::<Init>(c"PMIx_Init").map_err(missing)?;
            let client = Self {
                finalize: *library.get::<Finalize>(c"PMIx_Finalize").map_err(missing)?,
                put: *library.get::<Put>(c"PMIx_Put").map_err(missing)?,
                commit: *library.get::<Commit>(c"PMIx_Commit").map_err(missing)?,
                fence: *library.get::<Fence>(c"PMIx_Fence").map_err(missing)?,
                get: *library.get::<Get>(c"PMIx_Get").map_err(missing)?,
                error_string: *library.get::<ErrorString>(c"PMIx_Error_string").map_err(missing)?,
                own: Process { namespace: [0; NAMESPACE], rank: 0 },
                _library: library,
            };
            (init, client)
        };
        let mut client = client;
        // SAFETY: the process is this client's own; no information is passed.
        let code = unsafe { init(&raw mut client.own, null_mut(), 0) };
        client.check("PMIx_Init", code).map_err(NoClient::Server)?;
        Ok(client)
    }

    /// The job's name and the rank, as the server says.
    pub(super) fn own(&self) -> (String, u32) {
        let name: Vec<u8> =
            self.own.namespace.iter().map(|&c| c.cast_unsigned()).take_while(|&c| c != 0).collect();
        (String::from_utf8_lossy(&name).into_owned(), self.own.rank)
    }

    /// Puts text under a key, for all processes.
    pub(super) fn put(&self, key: &str, text: &str) -> Result<(), String> {
        let (key, text) = (plain(key)?, plain(text)?);
        let mut value = Value { kind: STRING, data: [text.as_ptr() as u64, 0, 0] };
        // SAFETY: the key and the value, which it copies, live until it has returned.
        let code = unsafe { (self.put)(GLOBAL, key.as_ptr(), &raw mut value) };
        self.check("PMIx_Put", code)?;
        // SAFETY: it takes nothing.
        self.check("PMIx_Commit", unsafe { (self.commit)() })
    }

    /// Waits for all processes of the job; `false` if some have ended and will not come.
    pub(super) fn fence(&self) -> Result<bool, String> {
        // SAFETY: no list of processes means all of the job's; no information is passed.
        match unsafe { (self.fence)(null(), 0, null(), 0) } {
            PARTIAL_SUCCESS => Ok(false),
            code => self.check("PMIx_Fence", code).map(|()| true),
        }
    }

    /// The text that a process has put.
    pub(super) fn text(&self, of: u32, key: &str) -> Result<String, String> {
        let value = self.get(of, key)?;
        let start = value.data[0] as *const c_char;
        if value.kind != STRING || start.is_null() {
            return Err(format!("PMIx_Get gave no text for {key:?} of PE {of}"));
        }
        // SAFETY: of this kind is a pointer to text with its end, which stays: the value is never given back.
        let text = unsafe { CStr::from_ptr(start) };
        text.to_str().map(str::to_owned).map_err(|_| format!("PMIx_Get gave no UTF-8 for {key:?} of PE {of}"))
    }

    /// A number that the server says of a process or of the job.
    pub(super) fn number(&self, of: u32, key: &str) -> Result<u32, String> {
        let value = self.get(of, key)?;
        let data = value.data[0];
        let number = match value.kind {
            UINT16 => Some(u32::from(data as u16)),
            UINT32 | UINT | INT => Some(data as u32),
            SIZE => u32::try_from(data).ok(),
            _ => None,
        };
        number.ok_or_else(|| format!("PMIx_Get gave no number for {key:?} but kind {} of value", value.kind))
    }

    fn get(&self, of: u32, key: &str) -> Result<Value, String> {
        let who = Process { namespace: self.own.namespace, rank: of };
        let (word, mut value) = (plain(key)?, null_mut());
        // SAFETY: process and key live until it has returned; it sets the pointer to a value, if it succeeds.
        let code = unsafe { (self.get)(&raw const who, word.as_ptr(), null(), 0, &raw mut value) };
        self.check("PMIx_Get", code).map_err(|why| format!("{why} for {key:?}"))?;
        if value.is_null() {
            return Err(format!("PMIx_Get gave nothing for {key:?}"));
        }
        // SAFETY: it points to a value, which is this caller's. It is kept: a few bytes, asked for once in a process.
        Ok(unsafe { value.read() })
    }

    /// Says that this is all.
    pub(super) fn finish(&self) -> Result<(), String> {
        // SAFETY: no information is passed.
        self.check("PMIx_Finalize", unsafe { (self.finalize)(null(), 0) })
    }

    fn check(&self, call: &str, code: c_int) -> Result<(), String> {
        if code == SUCCESS {
            return Ok(());
        }
        // SAFETY: it takes any number and gives text that stays, or nothing.
        let text = unsafe { (self.error_string)(code) };
        let text = if text.is_null() {
            "no reason".into()
        } else {
            // SAFETY: text with its end.
            unsafe { CStr::from_ptr(text) }.to_string_lossy()
        };
        Err(format!("{call} failed: {text} ({code})"))
    }
}

fn plain(text: &str) -> Result<CString, String> {
    CString::new(text).map_err(|_| format!("{text:?} holds a zero"))
}
