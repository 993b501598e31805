// SPDX-License-Identifier: GPL-2.0
// Reads and writes registers as often as its parameters say, and is not loaded.
#include <linux/io.h>
#include <linux/module.h>

static ulong base = 0x0a000000; // of the first virtio-mmio device of QEMU's machine "virt"
module_param(base, ulong, 0);
static int reads = 3;
module_param(reads, int, 0);
static ulong offset; // of the register
module_param(offset, ulong, 0);

static noinline void access_registers(void __iomem *regs)
{
	int i;

	for (i = 0; i < reads; i++)
		readl(regs + offset);
}

static int __init access_init(void)
{
	void __iomem *regs = ioremap(base, 0x1000);

	if (!regs)
		return -ENOMEM;
	access_registers(regs);
	iounmap(regs);
	return -ECANCELED;
}
module_init(access_init);
MODULE_LICENSE("GPL");
