/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/virtio/device.c - see device.h: the lock, and what follows a mistake */
#include <string.h>

#include "vmm/virtio/device.h"

int virtio_dev_init(struct virtio_dev *vd, const struct virtio_ops *ops)
{
	bug_on(ops->n_queues > VIRTIO_QUEUES_MAX);
	bug_on(ops->queue_max > VIRTQ_SIZE_MAX);
	memset(vd, 0, sizeof(*vd));
	vd->ops = ops;
	return -pthread_mutex_init(&vd->lock, NULL);
}

void virtio_dev_done(struct virtio_dev *vd)
{
	(void)pthread_mutex_destroy(&vd->lock);
}

bool virtio_dev_enter(struct virtio_dev *vd)
{
	(void)pthread_mutex_lock(&vd->lock);
	if (vd->reset_due) {
		vd->reset_due = false;
		vd->ops->reset(vd);
	}
	return vd->running;
}

void virtio_dev_leave(struct virtio_dev *vd)
{
	(void)pthread_mutex_unlock(&vd->lock);
}

int virtio_dev_signal(struct virtio_dev *vd, unsigned int qi)
{
	int r = virtq_publish(&vd->vq[qi]);

	if (r > 0)
		vd->transport->interrupt(vd, qi);
	return r < 0 ? r : 0;
}

void virtio_dev_break(struct virtio_dev *vd)
{
	vd->running = false;
	vd->n_broken++;
	vd->ops->reset(vd);
	vd->transport->broken(vd);
}

void virtio_dev_serve(struct virtio_dev *vd, unsigned int qi)
{
	if (virtio_dev_enter(vd) && vd->vq[qi].ready) {
		int r = vd->ops->process(vd, qi);

		if (r < 0)
			virtio_dev_break(vd);
		else if (r > 0)
			virtio_dev_kick(vd, qi);
	}
	virtio_dev_leave(vd);
}

void virtio_dev_kick(struct virtio_dev *vd, unsigned int qi)
{
	if (vd->transport)
		vd->transport->kick(vd, qi);
}
