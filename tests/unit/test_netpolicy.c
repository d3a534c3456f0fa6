/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_netpolicy.c - host/lib/netpolicy, bootmsg: what hutch-net is
 * told, and the guest of it
 */
#include <errno.h>
#include <jansson.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/wire.h"
#include "host/lib/bootmsg.h"
#include "host/lib/memfile.h"
#include "host/lib/netpolicy.h"
#include "tests/lib/check_main.h"

START_TEST(secrets_come_from_the_environment)
{
	char *m = NULL;
	struct err e = { 0 };

	ck_assert_int_eq(setenv("HUTCH_TEST_A", "s\"1", 1), 0);
	ck_assert_int_eq(setenv("HUTCH_TEST_B", "2", 1), 0);
	ck_assert_msg(
		netpolicy_message("{\"rules\":[{\"allow\":\"${env:NO}\","
				  "\"inject\":[{\"set\":{\"X\":"
				  "\"a ${env:HUTCH_TEST_A}${env:HUTCH_TEST_B}"
				  " ${env:}\"}}]}]}",
				  1500, &m, &e) < 0,
		"%s", m);
	ck_assert_msg(strstr(e.msg, "wants variable ''"), "%s", e.msg);
	ck_assert_int_gt(
		netpolicy_message("{\"rules\":[{\"allow\":\"${env:NO}\","
				  "\"inject\":[{\"set\":{\"X\":"
				  "\"a ${env:HUTCH_TEST_A}${env:HUTCH_TEST_B}"
				  " ${env:\"}}]}]}",
				  1500, &m, &e),
		0);
	ck_assert_msg(strstr(m, "\"X\":\"a s\\\"12 ${env:\""), "%s", m);
	/* Elsewhere it is no reference. */
	ck_assert_msg(strstr(m, "\"allow\":\"${env:NO}\""), "%s", m);
	ck_assert_msg(strstr(m, "\"mtu\":1500"), "%s", m);
	ck_assert_msg(strstr(m, "\"resolvers\":["), "%s", m);
	netpolicy_free(m);
}
END_TEST

START_TEST(what_cannot_be_sent_is_refused)
{
	static char big[NETPOLICY_MAX + 2], value[NETPOLICY_MAX];
	char *m = NULL;
	struct err e = { 0 };

	ck_assert_int_eq(netpolicy_message("{", 0, &m, &e), -EINVAL);
	ck_assert_msg(strstr(e.msg, "no JSON: line 1"), "%s", e.msg);
	ck_assert_int_eq(
		netpolicy_message("{\"rules\":[\n\"SECRET\n", 0, &m, &e),
		-EINVAL);
	ck_assert_msg(strstr(e.msg, "no JSON: line 2"), "%s", e.msg);
	ck_assert_msg(!strstr(e.msg, "SECRET"), "%s", e.msg);
	ck_assert_int_eq(netpolicy_message("{\"a\":1,\"a\":2}", 0, &m, &e),
			 -EINVAL);
	ck_assert_int_eq(
		netpolicy_message("{\"rules\":[{\"inject\":"
				  "{\"set\":{\"a\":\"${env:HUTCH_NO}\"}}}]}",
				  0, &m, &e),
		-EINVAL);
	ck_assert_msg(strstr(e.msg, "'HUTCH_NO', which is not set"), "%s",
		      e.msg);
	ck_assert_int_eq(setenv("HUTCH_TEST_A", "", 1), 0);
	ck_assert_int_eq(
		netpolicy_message("{\"rules\":[{\"inject\":{\"set\":"
				  "{\"a\":\"Bearer ${env:HUTCH_TEST_A}\"}}}]}",
				  0, &m, &e),
		-EINVAL);
	ck_assert_msg(strstr(e.msg, "'HUTCH_TEST_A', which is empty"), "%s",
		      e.msg);
	memset(big, ' ', sizeof(big) - 1);
	big[0] = '[';
	big[sizeof(big) - 2] = ']';
	ck_assert_int_eq(netpolicy_message(big, 0, &m, &e), -E2BIG);
	memset(value, 'x', sizeof(value) - 1);
	ck_assert_int_eq(setenv("HUTCH_TEST_A", value, 1), 0);
	ck_assert_int_eq(
		netpolicy_change("{\"rules\":[{\"inject\":"
				 "{\"set\":{\"a\":\"${env:HUTCH_TEST_A}\"}}}]}",
				 0, &m, &e),
		-E2BIG);
	ck_assert_int_eq(setenv("HUTCH_TEST_A", "\xff", 1), 0);
	ck_assert_int_eq(
		netpolicy_change("{\"rules\":[{\"inject\":"
				 "{\"set\":{\"a\":\"${env:HUTCH_TEST_A}\"}}}]}",
				 0, &m, &e),
		-EINVAL);
	ck_assert_ptr_nonnull(strstr(e.msg, "not UTF-8"));
}
END_TEST

START_TEST(a_credential_is_never_written_into_a_policy)
{
	static const struct {
		const char *header;
		bool ok;
	} t[] = {
		{ "\"Authorization\":\"Bearer SECRET\"", false },
		{ "\"proxy-authorization\":\"SECRET\"", false },
		{ "\"Cookie\":\"id=SECRET\"", false },
		{ "\"X-Api-Key\":\"SECRET\"", false },
		{ "\"PRIVATE-TOKEN\":\"SECRET\"", false },
		{ "\"x_password\":\"SECRET\"", false },
		{ "\"A\":\"b\",\"X-Client-Secret\":\"SECRET ${env:\"", false },
		{ "\"X-Session\":\"SECRET\"", false },
		/* Of other names, by what they look like. */
		{ "\"X-A\":\"Bearer SECRET\"", false },
		{ "\"X-A\":\"basic  SECRET\"", false },
		{ "\"X-A\":\"Token SECRET ${env:HUTCH_TEST_A}\"", false },
		{ "\"X-A\":\"ghp_SECRETabcdefghijk0123\"", false },
		{ "\"X-A\":\"id=SECRETabcdefghijk0123, b\"", false },
		{ "\"X-A\":\"${env:HUTCH_TEST_A}SECRETabcdefghijk0123\"",
		  false },
		{ "\"X-A\":\"6f1ed002-ab55-11e9-SECRET-0242ac120002\"", false },
		{ "\"X-A\":\"application/vnd.github.v3+json\"", true },
		{ "\"User-Agent\":\"Mozilla/5.0 (X11; Linux x86_64)\"", true },
		{ "\"X-A\":\"a-sentence-of-many-words-and-no-digits\"", true },
		{ "\"X-A\":\"01234567890123456789012345\"", true },
		{ "\"X-A\":\"Bearer ${env:HUTCH_TEST_A}\"", true },
		{ "\"X-A\":\"${env:HUTCH_TEST_A}abcdefghi0123456789\"", true },
		{ "\"Authorization\":\"\"", true },
		{ "\"Authorization\":\"Bearer ${env:HUTCH_TEST_A}\"", true },
		{ "\"X-Origin\":\"sandbox\"", true },
	};
	static const char *const how[] = { "set", "add" };

	ck_assert_int_eq(setenv("HUTCH_TEST_A", "a", 1), 0);
	for (size_t i = 0; i < 2 * ARRAY_LEN(t); i++) {
		struct err e = { 0 };
		char *policy, *m = NULL;
		int r;

		ck_assert_int_gt(asprintf(&policy,
					  "{\"rules\":[{},{\"inject\":[{},"
					  "{\"%s\":{%s}}]}]}",
					  how[i % 2], t[i / 2].header),
				 0);
		r = netpolicy_message(policy, 0, &m, &e);
		ck_assert_msg((r > 0) == t[i / 2].ok, "%s: %d", policy, r);
		ck_assert_msg(r > 0 || strstr(e.msg, "rule 2 injects '"), "%s",
			      e.msg);
		ck_assert_msg(!strstr(e.msg, "SECRET"), "%s", e.msg);
		netpolicy_free(m);
		r = netpolicy_change(policy, 0, &m, &e);
		ck_assert_int_eq(r > 0, t[i / 2].ok);
		if (r > 0)
			netpolicy_free(m);
		free(policy);
	}
}
END_TEST

static int n_left;

static void look_and_free(void *p)
{
	if (p && memmem(p, malloc_usable_size(p), "SECRET", 6))
		n_left++;
	free(p);
}

START_TEST(nothing_is_left_in_memory)
{
	static const char policy[] =
		"{\"rules\":[{\"inject\":[{\"set\":{\"Authorization\":"
		"\"Bearer ${env:HUTCH_TEST_A}\",\"X-Key\":"
		"\"${env:HUTCH_TEST_B}\"}}]}]}";
	struct err e = { 0 };
	char *m = NULL;

	ck_assert_int_eq(setenv("HUTCH_TEST_A", "SECRET", 1), 0);
	ck_assert_int_eq(unsetenv("HUTCH_TEST_B"), 0);
	json_set_alloc_funcs(malloc, look_and_free);
	ck_assert_int_lt(netpolicy_change(policy, 0, &m, &e), 0);
	ck_assert_int_eq(setenv("HUTCH_TEST_B", "b", 1), 0);
	ck_assert_int_gt(netpolicy_change(policy, 0, &m, &e), 0);
	json_set_alloc_funcs(malloc, free);
	ck_assert_ptr_nonnull(strstr(m, "SECRET"));
	netpolicy_free(m);
	ck_assert_int_eq(n_left, 0);
}
END_TEST

START_TEST(change_says_for_whom_and_who_is_asked)
{
	static const char *const apply[] = { "new", "all" };
	struct err e = { 0 };

	for (int all = 0; all < 2; all++) {
		char *m = NULL;
		json_t *j;

		ck_assert_int_gt(
			netpolicy_change("{\"rules\":[]}", all, &m, &e), 0);
		j = json_loads(m, 0, NULL);
		ck_assert_uint_eq(json_object_size(j), 3);
		ck_assert_str_eq(json_string_value(json_object_get(j, "apply")),
				 apply[all]);
		ck_assert(json_is_array(json_object_get(j, "resolvers")));
		ck_assert(json_is_object(json_object_get(j, "policy")));
		json_decref(j);
		netpolicy_free(m);
	}
}
END_TEST

START_TEST(resolvers_are_read_as_the_c_library_does)
{
	char list[NETPOLICY_RESOLVERS][64];

	ck_assert_int_eq(netpolicy_resolvers("", list), 0);
	ck_assert_int_eq(
		netpolicy_resolvers(
			"# nameserver 1.2.3.4\nsearch a b\n"
			"nameserver\t192.0.2.1 # one\r\n"
			"nameserver fe80::1%eth0\nnameserver nobody\n"
			" nameserver 2001:db8::1\nnameservers 1.1.1.1\n"
			"nameserver 192.0.2.3\nnameserver 192.0.2.4",
			list),
		3);
	ck_assert_str_eq(list[0], "192.0.2.1");
	ck_assert_str_eq(list[1], "2001:db8::1");
	ck_assert_str_eq(list[2], "192.0.2.3");
}
END_TEST

/* ---- The boot message ---- */

#define PEM "-----BEGIN CERTIFICATE-----\nQQ==\n-----END CERTIFICATE-----\n"

static int boot_file(uint32_t flags)
{
	static const char *env[] = { "A=b", NULL };
	const struct msg_boot m = { .root = WIRE_ROOT_BUILTIN,
				    .flags = flags,
				    .hostname = "h",
				    .cwd = "",
				    .user = "",
				    .lower = "",
				    .upper = "",
				    .env = env,
				    .envc = 1,
				    .net = { .name = "eth0" } };
	uint8_t buf[512];
	struct wr wr = wr_init(buf, sizeof(buf));
	struct err e = { 0 };
	int fd;

	wire_boot_put(&wr, &m);
	fd = memfile_make("boot", buf, (size_t)wr_end(&wr), &e);
	ck_assert_int_ge(fd, 0);
	return fd;
}

START_TEST(certificate_is_added_to_the_boot_message)
{
	struct err e = { 0 };
	uint8_t buf[1024];
	struct msg_boot m;
	int fd = boot_file(WIRE_BOOT_NET), made;
	ssize_t len;

	made = bootmsg_add_ca(fd, PEM, &e);
	ck_assert_msg(made >= 0, "%s", e.msg);
	len = read(made, buf, sizeof(buf));
	ck_assert_int_gt(len, WIRE_HDR_LEN);
	ck_assert_int_eq(wire_boot_parse(buf + WIRE_HDR_LEN,
					 (size_t)len - WIRE_HDR_LEN, &m, &e),
			 0);
	ck_assert_str_eq(m.net.ca, PEM);
	ck_assert_str_eq(m.net.name, "eth0");
	ck_assert_str_eq(m.env[0], "A=b");
	wire_boot_done(&m);
	ck_assert_int_eq(close(fd), 0);
	ck_assert_int_eq(close(made), 0);

	fd = boot_file(WIRE_BOOT_NET);
	ck_assert_int_eq(bootmsg_add_ca(fd, "no PEM", &e), -EBADMSG);
	/* It has been read to its end. */
	ck_assert_int_eq(bootmsg_add_ca(fd, PEM, &e), -EBADMSG);
	ck_assert_int_eq(close(fd), 0);
	fd = boot_file(0);
	ck_assert_int_eq(bootmsg_add_ca(fd, PEM, &e), -EBADMSG);
	ck_assert_int_eq(close(fd), 0);
}
END_TEST

CHECK_MAIN("netpolicy", secrets_come_from_the_environment,
	   what_cannot_be_sent_is_refused,
	   a_credential_is_never_written_into_a_policy,
	   nothing_is_left_in_memory, change_says_for_whom_and_who_is_asked,
	   resolvers_are_read_as_the_c_library_does,
	   certificate_is_added_to_the_boot_message)
