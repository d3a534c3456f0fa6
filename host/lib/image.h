/* SPDX-License-Identifier: Apache-2.0 */
/* host/lib/image.h - what the files behind hutch_image_*() share */
#ifndef HUTCH_HOST_LIB_IMAGE_H
#define HUTCH_HOST_LIB_IMAGE_H

#include "common/err.h"
#include "host/lib/imagestore.h"

#define auto_store AUTO(imagestore_close)

/** image_store() - Open the store of @h, making what is missing */
MUST_CHECK int image_store(struct hutch *h, struct imagestore *ret,
			   struct err *e);

/** image_check_name() - What an image is to be called, as it is written */
MUST_CHECK int image_check_name(const char *name,
				char ret[HUTCH_IMAGE_REF_MAX + 1],
				struct err *e);

/** image_give() - hutch_image_import()'s @ret, which may be NULL */
MUST_CHECK int image_give(const struct imagestore *s, const char *id,
			  struct hutch_image_info **ret, struct err *e);

/** image_name() - The name it was found by, or its id; lives as long as @img */
const char *image_name(const struct hutch_image *img);

/**
 * image_stop_signal() - What the image wants its main process to be asked by
 * @ret:	1 to 64; 0 if it does not say
 *
 * Return: 0; -EINVAL if what it says is no signal
 */
MUST_CHECK int image_stop_signal(const struct hutch_image *img,
				 unsigned int *ret, struct err *e);

/**
 * image_env() - The image's variables that @env does not set, and then @env
 * @env:	May be NULL
 * @ret:	A list that ends in NULL, to be free()d; its strings are borrowed
 *
 * Return: 0 or -ENOMEM
 */
MUST_CHECK int image_env(const struct hutch_image *img, const char *const *env,
			 const char *const **ret);

#endif
