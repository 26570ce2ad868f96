//! Where a static program looks names up: in what the C library itself has, `/etc/passwd`, `/etc/hosts` and DNS. Other services
//! of nsswitch.conf are libraries, made for the system's C library and not for ours (a crash), and looked for where
//! `LD_LIBRARY_PATH` says (somebody's code in the supervisor).

#[cfg(all(target_env = "gnu", target_feature = "crt-static"))]
mod built_in {
    use std::ffi::CStr;
    use std::io;

    unsafe extern "C" {
        /// nss.h of glibc: the services of one database, whatever nsswitch.conf says. Those named below are part of libc.a
        /// from 2.34 on.
        fn __nss_configure_lookup(
            database: *const libc::c_char,
            services: *const libc::c_char,
        ) -> libc::c_int;
    }

    const SERVICES: [(&CStr, &CStr); 3] =
        [(c"passwd", c"files"), (c"group", c"files"), (c"hosts", c"files dns")];

    pub(super) fn alone() -> io::Result<()> {
        for (database, services) in SERVICES {
            // SAFETY: both are strings that end with a NUL and live as long as the program; nothing was looked up
            // before, and there is one thread.
            super::super::check(
                unsafe { __nss_configure_lookup(database.as_ptr(), services.as_ptr()) }.into(),
            )?;
        }
        Ok(())
    }
}

/// To be called before anything is looked up or a thread exists. A program that is not static has nothing to do.
pub fn keep_to_built_in() -> std::io::Result<()> {
    #[cfg(all(target_env = "gnu", target_feature = "crt-static"))]
    built_in::alone()?;
    Ok(())
}
