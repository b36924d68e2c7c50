//! Memory of the caller: checked pointers, texts and structures.

use std::ffi::{CStr, c_char};
use std::fmt::Display;
use std::mem::MaybeUninit;

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

/// A structure of the header that begins with its size. Programs that were compiled with an older
/// header have a shorter one, whose missing fields are 0.
///
/// # Safety
/// The first field is `size: usize`, except in elements of arrays, and zero bytes are a value.
pub(crate) unsafe trait Structure: Copy {
    /// The size in the first header of this `ZF_ABI_VERSION`.
    const LEAST: usize;
}

/// More bytes than any structure will have.
const MOST: usize = 4096;

/// Checks the size that a caller has compiled a structure with.
pub(crate) fn check_size<T: Structure>(name: impl Display, size: usize) -> Outcome<()> {
    if (T::LEAST..=MOST).contains(&size) && size.is_multiple_of(align_of::<T>()) {
        return Ok(());
    }
    let known = size_of::<T>();
    Err(Failure::argument(format!("{name} is {size}, and this library has {known}: call zf_*_init()")))
}

/// Copies a structure of the caller that has this size.
///
/// # Safety
/// The pointer points to so many bytes.
pub(crate) unsafe fn copied<T: Structure>(name: impl Display, pointer: *const T, size: usize) -> Outcome<T> {
    let known = size.min(size_of::<T>());
    let mut value = MaybeUninit::<T>::zeroed();
    // SAFETY: both have so many bytes, and the value is no memory of the caller.
    unsafe { value.as_mut_ptr().cast::<u8>().copy_from_nonoverlapping(pointer.cast(), known) };
    // SAFETY: the caller promises these bytes.
    let rest = unsafe { std::slice::from_raw_parts(pointer.cast::<u8>().add(known), size - known) };
    if rest.iter().any(|&byte| byte != 0) {
        return Err(Failure::argument(format!(
            "{name} has a field that this library does not know, and that is not 0"
        )));
    }
    // SAFETY: zero bytes are a value, and so are the caller's.
    Ok(unsafe { value.assume_init() })
}

/// Reads the size of a structure that begins with it.
///
/// # Safety
/// The pointer is NULL or points to a structure with the size that it says.
unsafe fn size_of_structure<T: Structure>(name: &str, pointer: *const T) -> Outcome<usize> {
    check(name, pointer)?;
    // SAFETY: the caller's structure begins with its size, which is read before anything else.
    let size = unsafe { pointer.cast::<usize>().read() };
    check_size::<T>(format_args!("{name}->size"), size)?;
    Ok(size)
}

/// Copies a structure that begins with its size.
///
/// # Safety
/// The pointer is NULL or points to a structure with the size that it says.
pub(crate) unsafe fn structure<T: Structure>(name: &str, pointer: *const T) -> Outcome<T> {
    // SAFETY: the promise of this function's caller.
    unsafe { copied(name, pointer, size_of_structure(name, pointer)?) }
}

/// Writes a structure to a place of the caller, as far as the caller's size reaches, which stays.
///
/// # Safety
/// As [`structure`]; nobody else uses the structure meanwhile.
pub(crate) unsafe fn write_structure<T: Structure>(name: &str, place: *mut T, value: &T) -> Outcome<()> {
    // SAFETY: the promise of this function's caller.
    let size = unsafe { size_of_structure(name, place.cast_const()) }?;
    let (known, first) = (size.min(size_of::<T>()), size_of::<usize>());
    let from = std::ptr::from_ref(value).cast::<u8>();
    // SAFETY: both have so many bytes, and the value is no memory of the caller.
    unsafe { place.cast::<u8>().add(first).copy_from_nonoverlapping(from.add(first), known - first) };
    Ok(())
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

/// Writes layers; 255 stands for no layer.
///
/// # Safety
/// The pointer is NULL or has room for all layers.
pub(crate) unsafe fn write_layers(place: *mut u8, layers: impl ExactSizeIterator<Item = Option<u32>>) -> Outcome<()> {
    if layers.len() == 0 {
        return Ok(());
    }
    check("layers", place.cast_const())?;
    for (index, layer) in layers.enumerate() {
        let layer = layer.and_then(|layer| layer.try_into().ok()).unwrap_or(u8::MAX);
        // SAFETY: the promise of this function's caller.
        unsafe { place.add(index).write(layer) };
    }
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

/// Copies the elements of an array of structures that a caller has compiled with this size.
///
/// # Safety
/// The pointer is NULL or points to so many structures, which nobody changes meanwhile.
pub(crate) unsafe fn structures<T: Structure>(
    name: &str,
    pointer: *const T,
    count: usize,
    size: usize,
) -> Outcome<Vec<T>> {
    check_size::<T>(format_args!("{name}: the size of an element"), size)?;
    let Some(bytes) = count.checked_mul(size) else {
        return Err(Failure::argument(format!("{name} has {count} elements, which no memory holds")));
    };
    // SAFETY: the promise of this function's caller.
    let bytes = unsafe { column(name, pointer.cast::<u8>(), bytes) }?;
    let element = |of: &[u8]| {
        // SAFETY: the slice has these bytes.
        unsafe { copied(name, of.as_ptr().cast(), of.len()) }
    };
    bytes.chunks_exact(size).map(element).collect()
}

/// Borrows elements at equal distances as bytes, from the first byte of the first one to the last
/// byte of the last one.
///
/// # Safety
/// The pointer is NULL or points to so many elements at this distance, which nobody changes
/// meanwhile.
pub(crate) unsafe fn strided<'a, T>(name: &str, pointer: *const T, count: usize, stride: usize) -> Outcome<&'a [u8]> {
    if count == 0 {
        return Ok(&[]);
    }
    if stride < size_of::<T>() {
        let size = size_of::<T>();
        return Err(Failure::argument(format!("{name}: elements of {size} bytes at a distance of {stride}")));
    }
    let bytes = (count - 1).checked_mul(stride).and_then(|bytes| bytes.checked_add(size_of::<T>()));
    let Some(bytes) = bytes.filter(|&bytes| bytes <= isize::MAX as usize) else {
        return Err(Failure::argument(format!("{name} has {count} elements, which no memory holds")));
    };
    if pointer.is_null() {
        return Err(Failure::new(zf_code::ZF_NULL, format!("{name} is NULL")));
    }
    // SAFETY: the pointer was checked, and the caller promises the rest.
    Ok(unsafe { std::slice::from_raw_parts(pointer.cast(), bytes) })
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
