//! oxshmem.
