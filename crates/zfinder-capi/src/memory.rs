//! Memory of the caller: checked pointers, texts and structures.

use std::ffi::{CStr, c_char};
use std::fmt::Display;

use crate::failure::{Failure, Outcome};
use crate::types::zf_code;

/// Checks that a pointer is neither NULL nor misaligned.
fn check<T>(name: &str, pointer: *const T) -> Outcome<()> {
    if pointer.is_null() {
        return Err(Failure::new(zf_code::ZF_NULL, format!("{name} is NULL")));
    }
    if !pointer.is_aligned() {
        return Err(Failure::argument(format!("{name} is not aligned to {} bytes", align_of::<T>())));
    }
    Ok(())
}

/// Checks the size that a caller has compiled a structure with.
pub(crate) fn check_size<T>(name: impl Display, size: usize) -> Outcome<()> {
    let wanted = size_of::<T>();
    if size == wanted {
        return Ok(());
    }
    Err(Failure::argument(format!("{name} is {size}, and this library has {wanted}: is the header of this version?")))
}

/// Borrows a structure that begins with its size.
///
/// # Safety
/// The pointer is NULL or points to a structure with the size that it says.
pub(crate) unsafe fn structure<'a, T>(name: &str, pointer: *const T) -> Outcome<&'a T> {
    check(name, pointer)?;
    // SAFETY: the caller's structure begins with its size, which is read before anything else.
    let size = unsafe { pointer.cast::<usize>().read() };
    check_size::<T>(format_args!("{name}->size"), size)?;
    // SAFETY: the structure has the size of this type.
    Ok(unsafe { &*pointer })
}

/// Borrows a structure that begins with its size, to write to it.
///
/// # Safety
/// As [`structure`]; nobody else uses the structure meanwhile.
pub(crate) unsafe fn structure_mut<'a, T>(name: &str, pointer: *mut T) -> Outcome<&'a mut T> {
    // SAFETY: the promise of this function's caller.
    unsafe { structure(name, pointer.cast_const()) }?;
    // SAFETY: the structure was checked, and nobody else uses it.
    Ok(unsafe { &mut *pointer })
}

/// Writes a value to a place of the caller.
///
/// # Safety
/// The pointer is NULL or can be written to.
pub(crate) unsafe fn write<T>(name: &str, place: *mut T, value: T) -> Outcome<()> {
    check(name, place.cast_const())?;
    // SAFETY: the pointer was checked, and the caller promises the rest.
    unsafe { place.write(value) };
    Ok(())
}

/// Borrows a column.
///
/// # Safety
/// The pointer is NULL or points to so many elements, which nobody changes meanwhile.
pub(crate) unsafe fn column<'a, T>(name: &str, pointer: *const T, count: usize) -> Outcome<&'a [T]> {
    if count == 0 {
        return Ok(&[]);
    }
    if count > isize::MAX as usize / size_of::<T>() {
        return Err(Failure::argument(format!("{name} has {count} elements, which no memory holds")));
    }
    check(name, pointer)?;
    // SAFETY: the pointer was checked, and the caller promises the rest.
    Ok(unsafe { std::slice::from_raw_parts(pointer, count) })
}

/// Borrows a text; None if the pointer is NULL.
///
/// # Safety
/// The pointer is NULL or points to a text that ends with NUL.
pub(crate) unsafe fn text<'a>(name: &str, pointer: *const c_char) -> Outcome<Option<&'a str>> {
    if pointer.is_null() {
        return Ok(None);
    }
    // SAFETY: the promise of this function's caller.
    let text = unsafe { CStr::from_ptr(pointer) };
    text.to_str().map(Some).map_err(|_| Failure::argument(format!("{name} is not UTF-8")))
}

/// Writes a text with NUL to a buffer. `wanted` gets the size with NUL. A NULL buffer asks for the
/// size alone.
///
/// # Safety
/// The buffer is NULL or has `room` bytes; `wanted` is NULL or can be written to.
pub(crate) unsafe fn write_text(text: &str, buffer: *mut c_char, room: usize, wanted: *mut usize) -> Outcome<()> {
    let text = text.replace('\0', "");
    let size = text.len() + 1;
    if !wanted.is_null() {
        // SAFETY: the promise of this function's caller.
        unsafe { write("wanted", wanted, size) }?;
    }
    if buffer.is_null() {
        return Ok(());
    }
    if room < size {
        return Err(Failure::new(zf_code::ZF_NO_ROOM, format!("the text has {size} bytes, and the buffer {room}")));
    }
    // SAFETY: the buffer has room for the text and NUL, and is no memory of this library.
    unsafe {
        buffer.cast::<u8>().copy_from_nonoverlapping(text.as_ptr(), text.len());
        buffer.add(text.len()).write(0);
    }
    Ok(())
}
