// Functions with all kinds of Rust names, each of which runs long enough to be sampled.
use std::collections::HashMap; use std::fmt::Display;
mod inner { pub trait Work { fn work(&self, n: u64) -> u64; }
  pub struct A<T>(pub T);
  impl<T: Copy + Into<u64>> Work for A<T> { #[inline(never)] fn work(&self, n: u64) -> u64 { let mut s = 0u64; for i in 0..n { s = std::hint::black_box(s.wrapping_add(i * self.0.into())); } s } }
  impl<T> A<T> { #[inline(never)] pub fn own<const N: usize>(&self, a: [u64; N]) -> u64 { let mut s = 0; for _ in 0..200 { for x in a.iter() { s = std::hint::black_box(s ^ x); } } s } } }
use inner::*;
#[inline(never)] fn generic<T: Display, F: Fn(u64) -> u64>(t: T, f: F) -> u64 { let mut s = 0; for i in 0..100 { s += f(i); } s + t.to_string().len() as u64 }
#[inline(never)] fn dynamic(w: &dyn Work) -> u64 { w.work(3000) }
fn main() { let mut r = 0u64; let mut m: HashMap<String, u64> = HashMap::new();
  for k in 0..5000u64 { let a = A(k as u32); r ^= dynamic(&a); r ^= A(7u8).work(2000); r ^= a.own([1, 2, 3, 4]);
    r ^= generic("x", |i| { let mut s = k; for j in 0..20 { s = std::hint::black_box(s + j * i); } s });
    *m.entry(format!("{}", k % 97)).or_insert(0) += r; let mut v: Vec<u64> = (0..100).map(|i| i * 7919 % 101).collect(); v.sort_by_key(|x| std::cmp::Reverse(*x)); r ^= v[3]; }
  println!("{} {}", r, m.len()); }
