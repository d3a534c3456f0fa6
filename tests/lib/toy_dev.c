/* SPDX-License-Identifier: Apache-2.0 */
/* tests/lib/toy_dev.c - see toy_dev.h */
#include <errno.h>
#include <string.h>

#include "tests/lib/toy_dev.h"

static int toy_process(struct virtio_dev *vd, unsigned int qi)
{
	struct toy *t = container_of(vd, struct toy, vd);
	int r;

	t->processed[qi]++;
	if (t->answer) {
		r = t->answer;
		t->answer = 0;
		return r;
	}
	while ((r = virtq_pop(&vd->vq[qi], &t->c)) > 0)
		if (virtq_push(&vd->vq[qi], t->c.head, 0) < 0)
			return -EBADMSG;
	return r < 0 ? r : virtio_dev_signal(vd, qi);
}

static void toy_reset(struct virtio_dev *vd)
{
	container_of(vd, struct toy, vd)->resets++;
}

static void toy_config(struct virtio_dev *vd, size_t off, uint8_t *dst,
		       size_t len)
{
	static const uint8_t config[6] = { 1, 2, 3, 4, 5, 6 };

	(void)vd;
	bug_on(off > sizeof(config));
	bug_on(len > sizeof(config) - off);
	memcpy(dst, config + off, len);
}

static int toy_shm(struct virtio_dev *vd, unsigned int id, uint64_t *ret_base,
		   uint64_t *ret_len)
{
	(void)vd;
	if (id != 3)
		return -ENOENT;
	*ret_base = 0x1122334455667788;
	*ret_len = 0x99aabbccddeeff00;
	return 0;
}

static const struct virtio_ops toy_ops = {
	.name = "toy",
	.id = TOY_ID,
	.n_queues = TOY_QUEUES,
	.queue_max = TOY_QUEUE_MAX,
	.features = TOY_FEATURE,
	.process = toy_process,
	.reset = toy_reset,
	.config_len = 6,
	.config = toy_config,
	.shm = toy_shm,
};

struct toy *toy_new(void)
{
	struct toy *t = calloc(1, sizeof(*t));
	struct err e;

	bug_on(!t);
	fake_guest_init(&t->g, FG_LEN, 16);
	bug_on(loop_init(&t->loop, &e) != 0);
	bug_on(irq_init(&t->irq, &e) != 0);
	bug_on(virtio_dev_init(&t->vd, &toy_ops) != 0);
	bug_on(virtio_mmio_init(&t->m, &t->vd, &t->g.mem, &t->irq, &e) != 0);
	bug_on(virtio_mmio_show(&t->m, &e) != 0);
	bug_on(virtio_mmio_start(&t->m, &t->loop, &e) != 0);
	t->g.mmio = &t->m;
	return t;
}

void toy_free(struct toy *t)
{
	virtio_mmio_done(&t->m);
	virtio_dev_done(&t->vd);
	irq_done(&t->irq);
	loop_done(&t->loop);
	fake_guest_done(&t->g);
	free(t);
}

void toy_run(struct toy *t)
{
	while (loop_step(&t->loop, 0) > 0)
		;
}

/* Two queues, where fake_guest_boot() has three. */
void toy_boot(struct toy *t, uint64_t features)
{
	fake_guest_set(&t->g, REG_STATUS, 0);
	fake_guest_set(&t->g, REG_STATUS, 1);
	fake_guest_set(&t->g, REG_STATUS, 3);
	fake_guest_features(&t->g, features);
	fake_guest_set(&t->g, REG_STATUS, 0xb);
	fake_guest_setup_queue(&t->g, 0);
	fake_guest_setup_queue(&t->g, 1);
	fake_guest_set(&t->g, REG_STATUS, 0xf);
	bug_on(fake_guest_reg(&t->g, REG_STATUS) != 0xf);
	toy_run(t);
}

void toy_features_ok(struct toy *t)
{
	fake_guest_set(&t->g, REG_STATUS, 1);
	fake_guest_set(&t->g, REG_STATUS, 3);
	fake_guest_features(&t->g, VIRTIO_F_VERSION_1);
	fake_guest_set(&t->g, REG_STATUS, 0xb);
	bug_on(fake_guest_reg(&t->g, REG_STATUS) != 0xb);
}
