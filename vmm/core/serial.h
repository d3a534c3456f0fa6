/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vmm/core/serial.h - a 16550A with no interrupt line and no input
 *
 * The driver polls it.  What the guest transmits goes to a sink at once, so
 * the transmitter is always empty; the receiver never has a byte.
 */
#ifndef HUTCH_VMM_CORE_SERIAL_H
#define HUTCH_VMM_CORE_SERIAL_H

#include <pthread.h>
#include <stdint.h>

#include "vmm/core/bus.h"

#define SERIAL_LEN 8

/** serial_out_fn() - A byte was sent. Context: a vCPU's thread, one at a time */
typedef void serial_out_fn(void *ctx, uint8_t byte);

/**
 * struct serial - The registers; @lock guards all of them
 * @thr_empty:	A "transmitter empty" interrupt waits to be read in IIR
 */
struct serial {
	pthread_mutex_t lock;
	serial_out_fn *out;
	void *out_ctx;
	uint8_t ier;
	uint8_t fcr;
	uint8_t lcr;
	uint8_t mcr;
	uint8_t scr;
	uint8_t dll;
	uint8_t dlm;
	int thr_empty;
};

extern const struct bus_ops serial_ops;

/** serial_init() - Registers as after power-on */
void serial_init(struct serial *s, serial_out_fn *out, void *ctx);
void serial_done(struct serial *s);

#endif
