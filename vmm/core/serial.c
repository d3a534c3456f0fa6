/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/core/serial.c - see serial.h */
#include "vmm/core/serial.h"

enum {
	REG_DATA,
	REG_IER,
	REG_IIR_FCR,
	REG_LCR,
	REG_MCR,
	REG_LSR,
	REG_MSR,
	REG_SCR
};

#define IER_THRI      0x02
#define IER_MASK      0x0f
#define IIR_NONE      0x01
#define IIR_THRI      0x02
#define IIR_FIFO_ON   0xc0
#define FCR_ENABLE    0x01
#define LCR_DLAB      0x80
#define MCR_MASK      0x1f
#define MCR_LOOP      0x10
#define LSR_TX_EMPTY  0x60 /* holding register and shifter */
#define MSR_CONNECTED 0xb0 /* carrier, data set ready, clear to send */

void serial_init(struct serial *s, serial_out_fn *out, void *ctx)
{
	*s = (struct serial){ .out = out, .out_ctx = ctx, .dll = 1 };
	/* Cannot fail with default attributes. */
	bug_on(pthread_mutex_init(&s->lock, NULL) != 0);
}

void serial_done(struct serial *s)
{
	(void)pthread_mutex_destroy(&s->lock);
}

static uint8_t read_iir(struct serial *s)
{
	uint8_t fifo = s->fcr & FCR_ENABLE ? IIR_FIFO_ON : 0;

	if (!s->thr_empty || !(s->ier & IER_THRI))
		return fifo | IIR_NONE;
	s->thr_empty = 0; /* reading it is the acknowledgement */
	return fifo | IIR_THRI;
}

/* In loopback the four outputs come back as the four inputs. */
static uint8_t read_msr(const struct serial *s)
{
	if (!(s->mcr & MCR_LOOP))
		return MSR_CONNECTED;
	return (uint8_t)((s->mcr & 0x0c) << 4 | (s->mcr & 0x02) << 3 |
			 (s->mcr & 0x01) << 5);
}

static uint8_t read_reg(struct serial *s, uint64_t reg)
{
	switch (reg) {
	case REG_DATA:
		return s->lcr & LCR_DLAB ? s->dll : 0;
	case REG_IER:
		return s->lcr & LCR_DLAB ? s->dlm : s->ier;
	case REG_IIR_FCR:
		return read_iir(s);
	case REG_LCR:
		return s->lcr;
	case REG_MCR:
		return s->mcr;
	case REG_LSR:
		return LSR_TX_EMPTY;
	case REG_MSR:
		return read_msr(s);
	case REG_SCR:
		return s->scr;
	default:
		return 0xff;
	}
}

static void write_data(struct serial *s, uint8_t v)
{
	if (s->lcr & LCR_DLAB) {
		s->dll = v;
		return;
	}
	if (!(s->mcr & MCR_LOOP))
		s->out(s->out_ctx, v);
	s->thr_empty = 1;
}

static void write_ier(struct serial *s, uint8_t v)
{
	if (s->lcr & LCR_DLAB) {
		s->dlm = v;
		return;
	}
	if (v & ~s->ier & IER_THRI)
		s->thr_empty = 1;
	s->ier = v & IER_MASK;
}

static void write_reg(struct serial *s, uint64_t reg, uint8_t v)
{
	switch (reg) {
	case REG_DATA:
		write_data(s, v);
		break;
	case REG_IER:
		write_ier(s, v);
		break;
	case REG_IIR_FCR:
		s->fcr = v;
		break;
	case REG_LCR:
		s->lcr = v;
		break;
	case REG_MCR:
		s->mcr = v & MCR_MASK;
		break;
	case REG_SCR:
		s->scr = v;
		break;
	default: /* LSR and MSR cannot be written */
		break;
	}
}

/* A wide access is that many narrow ones, as on a byte-wide bus. */
static void op_read(void *ctx, uint64_t off, uint8_t *data, unsigned int len)
{
	struct serial *s = ctx;

	(void)pthread_mutex_lock(&s->lock);
	for (unsigned int i = 0; i < len; i++)
		data[i] = read_reg(s, off + i);
	(void)pthread_mutex_unlock(&s->lock);
}

static void op_write(void *ctx, uint64_t off, const uint8_t *data,
		     unsigned int len)
{
	struct serial *s = ctx;

	(void)pthread_mutex_lock(&s->lock);
	for (unsigned int i = 0; i < len; i++)
		write_reg(s, off + i, data[i]);
	(void)pthread_mutex_unlock(&s->lock);
}

const struct bus_ops serial_ops = { .read = op_read, .write = op_write };
