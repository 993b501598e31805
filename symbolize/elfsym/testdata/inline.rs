// A Rust library without the standard one, small enough to fuzz with.
#![no_std]

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    loop {}
}

mod inner {
    pub struct Sum(pub u64);
    impl Sum {
        #[inline(always)]
        pub fn add(&mut self, x: u64) {
            self.0 = self.0.wrapping_mul(31).wrapping_add(x);
        }
    }
}

#[no_mangle]
pub extern "C" fn total(data: &[u64; 16]) -> u64 {
    let mut sum = inner::Sum(1);
    for x in data {
        sum.add(*x);
    }
    sum.0
}
