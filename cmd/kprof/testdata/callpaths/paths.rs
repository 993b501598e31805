// The program of paths.c in Rust.
use std::collections::HashMap;
use std::hint::black_box;
use std::panic::{catch_unwind, panic_any, set_hook};
use std::ptr::{addr_of_mut, read_volatile, write_volatile};

const NAMES: [&str; 13] = [
    "run", "spin", "even", "odd", "sorter", "texts", "maps", "boxes", "thrower", "between", "catcher", "compare", "cleanup",
];
const RUN: u8 = 0;
const SPIN: u8 = 1;
const EVEN: u8 = 2;
const ODD: u8 = 3;
const SORTER: u8 = 4;
const TEXTS: u8 = 5;
const MAPS: u8 = 6;
const BOXES: u8 = 7;
const THROWER: u8 = 8;
const BETWEEN: u8 = 9;
const CATCHER: u8 = 10;
const COMPARE: u8 = 11;
const CLEANUP: u8 = 12;
const LIBRARY: u8 = 254;
const THROWN: u8 = 255;

#[repr(C)]
struct Known {
    magic: [u64; 2],
    depth: u32,
    path: [u8; 116],
}

static mut NOW: *mut Known = std::ptr::null_mut();
static mut CALLS: [[bool; 256]; 256] = [[false; 256]; 256];
static mut SINK: i64 = 0;

#[inline(always)]
fn depth() -> u32 {
    unsafe { read_volatile(addr_of_mut!((*NOW).depth)) }
}

#[inline(always)]
fn set_depth(n: u32) {
    std::sync::atomic::compiler_fence(std::sync::atomic::Ordering::SeqCst);
    unsafe { write_volatile(addr_of_mut!((*NOW).depth), n) }
    std::sync::atomic::compiler_fence(std::sync::atomic::Ordering::SeqCst);
}

#[inline(always)]
fn enter(f: u8) {
    unsafe {
        let from = read_volatile(addr_of_mut!((*NOW).path[depth() as usize - 1]));
        write_volatile(addr_of_mut!(CALLS[from as usize][f as usize]), true);
        write_volatile(addr_of_mut!((*NOW).path[depth() as usize]), f)
    }
    set_depth(depth() + 1);
}

#[inline(always)]
fn leave() {
    set_depth(depth() - 1);
}

#[inline(always)]
fn call<T>(f: u8, what: impl FnOnce() -> T) -> T {
    enter(f);
    let v = black_box(what());
    leave();
    v
}

#[inline(always)]
fn add(n: i64) {
    unsafe { write_volatile(addr_of_mut!(SINK), read_volatile(addr_of_mut!(SINK)) + n) }
}

#[inline(never)]
fn spin(n: i64) {
    for i in 0..n {
        add(i);
    }
}

#[inline(never)]
fn even(n: i64) {
    if n <= 0 {
        call(SPIN, || spin(3000));
        add(1);
        return;
    }
    let here = black_box([n as u8; 24]);
    call(ODD, || odd(n - 1));
    add(here[3] as i64);
}

#[inline(never)]
fn odd(n: i64) {
    let here = black_box([n as u8; 200]);
    call(EVEN, || even(n - 1));
    add(here[100] as i64);
}

#[inline(never)]
fn compare(a: &i64, b: &i64) -> std::cmp::Ordering {
    enter(COMPARE);
    add(*a);
    leave();
    a.cmp(b)
}

#[inline(never)]
fn sorter(n: i64) {
    let mut v = call(LIBRARY, || (0..100).map(|i| (i * 7919 + n) % 1009).collect::<Vec<i64>>());
    call(LIBRARY, || v.sort_by(compare));
    call(LIBRARY, || v.sort_unstable_by(|a, b| compare(b, a)));
    call(LIBRARY, || drop(v));
}

#[inline(never)]
fn texts(n: i64) {
    let s = call(LIBRARY, || format!("{} {:?} {:.3}", n, "some words", n as f64 / 7.0));
    add(call(LIBRARY, || s.split(' ').filter_map(|w| w.parse::<f64>().ok()).count()) as i64);
    call(LIBRARY, || drop(s));
}

#[inline(never)]
fn maps(n: i64) {
    let mut m = HashMap::new();
    for i in 0..30 {
        call(LIBRARY, || *m.entry((i * n) % 17).or_insert(0) += i);
    }
    add(call(LIBRARY, || m.values().sum::<i64>()));
    call(LIBRARY, || drop(m));
}

trait Shape {
    fn turn(&self);
}

struct Round(i64);

impl Shape for Round {
    #[inline(never)]
    fn turn(&self) {
        call(SPIN, || spin(self.0));
    }
}

#[inline(never)]
fn boxes(n: i64) {
    let shapes: Vec<Box<dyn Shape>> = call(LIBRARY, || vec![Box::new(Round(n % 300)) as Box<dyn Shape>, Box::new(Round(200))]);
    for s in &shapes {
        call(LIBRARY, || s.turn());
    }
    call(LIBRARY, || drop(shapes));
}

struct Cleanup(i64);

impl Drop for Cleanup {
    fn drop(&mut self) {
        call(LIBRARY, || cleanup(self.0));
    }
}

#[inline(never)]
fn cleanup(n: i64) {
    enter(CLEANUP);
    call(SPIN, || spin(300));
    leave();
    add(n);
}

#[inline(never)]
fn thrower(n: i64) {
    call(SPIN, || spin(200));
    enter(THROWN);
    panic_any(n);
}

#[inline(never)]
fn between(n: i64) {
    let at_end = Cleanup(n);
    if n > 0 {
        call(BETWEEN, || between(n - 1));
    } else {
        call(THROWER, || thrower(n));
    }
    add(at_end.0);
}

#[inline(never)]
fn catcher(n: i64) {
    let before = depth();
    let caught = call_library_catch(n);
    set_depth(before);
    add(caught as i64);
    call(SPIN, || spin(100));
}

#[inline(always)]
fn call_library_catch(n: i64) -> bool {
    enter(LIBRARY);
    catch_unwind(move || call(BETWEEN, || between(n % 5))).is_err()
}

extern "C" {
    fn clock() -> std::os::raw::c_long; // microseconds of CPU time, of which samples are taken
}

#[inline(always)]
fn cpu_millis() -> u64 {
    (unsafe { clock() } / 1000) as u64
}

#[inline(never)]
fn run(millis: u64) {
    let mut here = Known { magic: [0; 2], depth: 1, path: [RUN; 116] };
    unsafe {
        NOW = &mut here;
        write_volatile(addr_of_mut!((*NOW).magic[0]), 0x617020796d206e49);
        write_volatile(addr_of_mut!((*NOW).magic[1]), 0x6d61206920736874);
    }
    let start = call(LIBRARY, cpu_millis);
    let mut n = 0;
    while call(LIBRARY, cpu_millis) - start < millis {
        call(EVEN, || even(n % 12));
        call(ODD, || odd(1 + n % 8));
        call(SORTER, || sorter(n));
        call(TEXTS, || texts(n));
        call(MAPS, || maps(n));
        call(BOXES, || boxes(n));
        call(CATCHER, || catcher(n));
        n += 1;
    }
    unsafe { write_volatile(addr_of_mut!((*NOW).magic[0]), 0) }
    for from in 0..256 {
        for to in 0..256 {
            if unsafe { read_volatile(addr_of_mut!(CALLS[from][to])) } {
                println!("{from} {to}");
            }
        }
    }
}

fn main() {
    set_hook(Box::new(|_| ()));
    match std::env::args().nth(1) {
        Some(n) => run(n.parse().unwrap()),
        None => {
            for (i, name) in NAMES.iter().enumerate() {
                println!("{i} {name}");
            }
        }
    }
}
