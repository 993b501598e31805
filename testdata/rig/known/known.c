// SPDX-License-Identifier: GPL-2.0
/*
 * A module that allocates, sleeps and calls itself as its tests know, and measures how long.
 *
 *	echo allocate >/sys/module/known/parameters/run
 *	echo sleep >/sys/module/known/parameters/run
 *	echo deep >/sys/module/known/parameters/run
 *	cat /sys/module/known/parameters/run	# times of what ran last, in nanoseconds, a line each
 *
 * Its clock is the one that perf's events have.
 */
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/sched/clock.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

/* By this name, with these arguments, and in the callchains of what it calls. */
#define known noinline __attribute__((noipa))

#define KEPT 64

static void *kept[KEPT];
static int nkept;
static void *lent[KEPT];
static u64 took[KEPT];
static int ntook;

/* 10 of 100 bytes, which take 128, and none is freed. */
static known void known_leak(void)
{
	int i;

	for (i = 0; i < 10; i++)
		kept[nkept++] = kmalloc(100, GFP_KERNEL);
	barrier();
}

/* 12 of 3000 bytes, which take 4096, of which every third is kept. */
static known void known_part(void)
{
	int i;

	for (i = 0; i < 12; i++) {
		void *p = kmalloc(3000, GFP_KERNEL);

		if (i % 3 == 0)
			kept[nkept++] = p;
		else
			kfree(p);
	}
	barrier();
}

/* Moved from 200 bytes to 5000: 256, which are taken back, and 8192, which are kept. */
static known void known_grow(void)
{
	void *p = kmalloc(200, GFP_KERNEL);

	kept[nkept++] = krealloc(p, 5000, GFP_KERNEL);
	barrier();
}

/* 7 of 40 bytes, which take 64; a worker frees 5 of them. */
static known void known_lend(void)
{
	int i;

	for (i = 0; i < 7; i++)
		lent[i] = kmalloc(40, GFP_KERNEL);
	barrier();
}

static void known_return(struct work_struct *work)
{
	int i;

	for (i = 0; i < 5; i++)
		kfree(lent[i]);
	for (; i < 7; i++)
		kept[nkept++] = lent[i];
}

static DECLARE_WORK(return_work, known_return);

static known int known_sleep(int ms)
{
	u64 begun = local_clock();

	msleep(ms);
	took[ntook++] = local_clock() - begun;
	return ms;
}

/* Five deep: each call waits, calls itself, and waits again. */
static known int known_deep(int n)
{
	u64 begun = local_clock();
	int at = ntook++;

	usleep_range(1000, 1100);
	if (n > 1)
		known_deep(n - 1);
	usleep_range(1000, 1100);
	took[at] = local_clock() - begun;
	return n;
}

static int run_set(const char *val, const struct kernel_param *kp)
{
	int i;

	ntook = 0;
	if (sysfs_streq(val, "allocate")) {
		if (nkept)
			return -EBUSY;
		known_leak();
		known_part();
		known_grow();
		known_lend();
		schedule_work(&return_work);
		flush_work(&return_work);
	} else if (sysfs_streq(val, "sleep")) {
		for (i = 0; i < 20; i++)
			known_sleep(5 + i);
	} else if (sysfs_streq(val, "deep")) {
		for (i = 0; i < 2; i++)
			known_deep(5);
	} else {
		return -EINVAL;
	}
	return 0;
}

static int run_get(char *buf, const struct kernel_param *kp)
{
	int i, n = 0;

	for (i = 0; i < ntook; i++)
		n += scnprintf(buf + n, PAGE_SIZE - n, "%llu\n", took[i]);
	return n;
}

static const struct kernel_param_ops run_ops = {.set = run_set, .get = run_get};
module_param_cb(run, &run_ops, NULL, 0600);

static int __init known_init(void)
{
	return 0;
}

static void __exit known_exit(void)
{
	while (nkept)
		kfree(kept[--nkept]);
}

module_init(known_init);
module_exit(known_exit);
MODULE_DESCRIPTION("Known times and allocations");
MODULE_LICENSE("GPL v2");
