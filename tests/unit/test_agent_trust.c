/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_agent_trust.c - guest-agent/trust: whom a guest trusts */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "common/io.h"
#include "common/rmtree.h"
#include "guest-agent/env.h"
#include "guest-agent/trust.h"
#include "tests/lib/check_main.h"

#define PEM                              \
	"-----BEGIN CERTIFICATE-----\n"  \
	"TUlJQkZ6Q0J2cUFEQWdFQ0FnRUI=\n" \
	"-----END CERTIFICATE-----\n"

#define OTHER \
	"-----BEGIN CERTIFICATE-----\nTUlJQg==\n-----END CERTIFICATE-----\n"

/* What the image trusts, and the same with one that is the VM's. */
#define THEIRS "# Theirs\n" OTHER
#define ADDED(pem)                                                      \
	"# hutch: who speaks for hosts that are intercepted\n" pem "# " \
	"hutch: end\n"

static char root[] = "/tmp/hutch-test-XXXXXX";

static void below(char path[128], const char *name)
{
	(void)snprintf(path, 128, "%s%s", root, name);
}

static void folder(const char *name)
{
	char path[128];

	below(path, name);
	ck_assert_int_eq(mkdir(path, 0755), 0);
}

static void put(const char *name, const char *text)
{
	char path[128];
	FILE *f;

	below(path, name);
	f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	(void)fputs(text, f);
	ck_assert_int_eq(fclose(f), 0);
}

static void expect(const char *name, const char *want)
{
	char path[128], *text = NULL;
	struct stat st;
	struct err e;

	below(path, name);
	ck_assert_int_eq(lstat(path, &st), 0);
	ck_assert_uint_eq(st.st_mode, S_IFREG | 0644);
	ck_assert_int_eq(io_read_file(AT_FDCWD, path, 4096, &text, NULL, &e),
			 0);
	ck_assert_str_eq(text, want);
	free(text);
}

static void begin(void)
{
	(void)umask(022);
	(void)snprintf(root, sizeof(root), "/tmp/hutch-test-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(root));
	folder("/etc");
}

static void end(void)
{
	ck_assert_int_eq(rmtree(AT_FDCWD, root), 0);
}

static int write_with(const char *ca, const char *word, struct err *e)
{
	const char *env[] = { word, NULL };
	const struct msg_boot m = { .net.ca = ca,
				    .env = env,
				    .envc = word != NULL };

	return trust_write(root, &m, e);
}

START_TEST(bundle_is_of_the_image_and_of_the_vm)
{
	struct err e = { 0 };

	begin();
	folder("/etc/ssl");
	folder("/etc/ssl/certs");
	put("/etc/ssl/certs/ca-certificates.crt", THEIRS);
	folder("/usr");
	folder("/usr/local");
	folder("/usr/local/share");
	folder("/usr/local/share/ca-certificates");
	/* Of the VM's run before, and what a link leads to stays. */
	put("/etc/ssl/hutch-ca.pem", "a long one of before, to be replaced\n");
	put("/etc/kept", "kept\n");
	{
		char path[128];

		below(path, "/etc/ssl/hutch-bundle.pem");
		ck_assert_int_eq(symlink("../kept", path), 0);
	}
	ck_assert_msg(write_with(PEM, NULL, &e) == 1, "%s", e.msg);
	expect("/etc/ssl/hutch-ca.pem", PEM);
	expect("/etc/ssl/hutch-bundle.pem", PEM THEIRS);
	expect("/usr/local/share/ca-certificates/hutch.crt", PEM);
	expect("/etc/ssl/certs/" TRUST_HASH ".0", PEM);
	expect("/etc/kept", "kept\n");
	end();
}
END_TEST

/* For who has none of our variables; and a disk is kept, the VM's CA is not. */
START_TEST(stores_of_the_image_have_it_once)
{
	struct err e = { 0 };
	char path[128];
	struct stat st;

	begin();
	folder("/etc/ssl");
	folder("/etc/ssl/certs");
	put("/etc/ssl/certs/ca-certificates.crt", THEIRS);
	below(path, "/etc/ssl/cert.pem");
	ck_assert_int_eq(symlink("certs/ca-certificates.crt", path), 0);
	/* Its last line has no end. */
	folder("/etc/pki");
	folder("/etc/pki/tls");
	folder("/etc/pki/tls/certs");
	put("/etc/pki/tls/certs/ca-bundle.crt", "-----BEGIN X\nx");
	ck_assert_msg(write_with(PEM, NULL, &e) == 1, "%s", e.msg);
	expect("/etc/ssl/certs/ca-certificates.crt", THEIRS ADDED(PEM));
	expect("/etc/pki/tls/certs/ca-bundle.crt",
	       "-----BEGIN X\nx\n" ADDED(PEM));
	ck_assert_int_eq(lstat(path, &st), 0);
	ck_assert(S_ISLNK(st.st_mode));
	ck_assert_msg(write_with(OTHER, NULL, &e) == 1, "%s", e.msg);
	expect("/etc/ssl/certs/ca-certificates.crt", THEIRS ADDED(OTHER));
	expect("/etc/ssl/hutch-bundle.pem", OTHER THEIRS);
	/* What the image has put behind it stays; a block without end, too. */
	put("/etc/ssl/certs/ca-certificates.crt", ADDED(PEM) THEIRS);
	put("/etc/pki/tls/certs/ca-bundle.crt",
	    "# hutch: who speaks for hosts that are intercepted\n" THEIRS);
	ck_assert_msg(write_with(OTHER, NULL, &e) == 1, "%s", e.msg);
	expect("/etc/ssl/certs/ca-certificates.crt", THEIRS ADDED(OTHER));
	expect("/etc/pki/tls/certs/ca-bundle.crt",
	       "# hutch: who speaks for hosts that are intercepted\n" THEIRS
		       ADDED(OTHER));
	end();
}
END_TEST

/* An image's own variable, which wins over ours. */
START_TEST(store_that_a_variable_names_has_it)
{
	struct err e = { 0 };

	begin();
	put("/etc/own.pem", THEIRS);
	put("/etc/empty.pem", "");
	put("/etc/none.pem", "no certificates\n");
	ck_assert_msg(write_with(PEM, "SSL_CERT_FILE=/etc/own.pem", &e) == 0,
		      "%s", e.msg);
	expect("/etc/own.pem", THEIRS ADDED(PEM));
	ck_assert_int_eq(write_with(PEM, "CURL_CA_BUNDLE=/etc/empty.pem", &e),
			 0);
	expect("/etc/empty.pem", "");
	ck_assert_int_eq(write_with(PEM, "GIT_SSL_CAINFO=/etc/none.pem", &e),
			 0);
	expect("/etc/none.pem", "no certificates\n");
	ck_assert_int_eq(write_with(PEM, "SSL_CERT_FILE=etc/own.pem", &e), 0);
	ck_assert_int_eq(write_with(PEM, "SSL_CERT_FILE=", &e), 0);
	ck_assert_int_eq(write_with(PEM, "REQUESTS_CA_BUNDLE=/nosuch", &e), 0);
	ck_assert_int_eq(write_with(OTHER, "SSL_CERT_FILES=/etc/own.pem", &e),
			 0);
	expect("/etc/own.pem", THEIRS ADDED(PEM));
	end();
}
END_TEST

START_TEST(image_that_trusts_nobody_gets_one)
{
	char path[128];
	struct err e = { 0 };

	begin();
	folder("/etc/ssl");
	/* It would hold up whoever reads it. */
	below(path, "/etc/ssl/cert.pem");
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	ck_assert_msg(write_with(PEM, NULL, &e) == 0, "%s", e.msg);
	expect("/etc/ssl/hutch-bundle.pem", PEM);
	end();
}
END_TEST

START_TEST(what_cannot_be_written_is_said)
{
	struct err e = { 0 };

	begin();
	put("/etc/ssl", "no folder\n");
	ck_assert_int_eq(write_with(PEM, NULL, &e), -ENOTDIR);
	ck_assert_ptr_nonnull(strstr(e.msg, "hutch-ca.pem"));
	end();
}
END_TEST

START_TEST(certificates_that_are_none)
{
	static char big[WIRE_NET_CA_MAX + 2];

	ck_assert(wire_net_ca_ok(""));
	ck_assert(wire_net_ca_ok(PEM));
	ck_assert(!wire_net_ca_ok("x"));
	ck_assert(!wire_net_ca_ok("-----BEGIN CERTIFICATE-----\n\"\n"));
	ck_assert(!wire_net_ca_ok("-----BEGIN CERTIFICATE-----\n\x1b[2J\n"));
	memset(big, 'A', sizeof(big) - 1);
	memcpy(big, PEM, sizeof("-----BEGIN CERTIFICATE-----\n") - 1);
	ck_assert(!wire_net_ca_ok(big));
	big[WIRE_NET_CA_MAX] = '\0';
	ck_assert(wire_net_ca_ok(big));
}
END_TEST

static const char *in_env(struct msg_boot *boot, const char *key)
{
	static char value[128];
	const struct user user = { .home = "/" };
	struct msg_exec req = { 0 };
	struct env env;
	const char *v;

	ck_assert_int_eq(env_build(&env, boot, &req, &user), 0);
	v = env_get(&env, key);
	(void)snprintf(value, sizeof(value), "%s", v ? v : "none");
	env_done(&env);
	return value;
}

START_TEST(environment_says_so_and_can_say_otherwise)
{
	const char *own[] = { "CURL_CA_BUNDLE=/mine", NULL };
	struct msg_boot boot = { .env = own, .envc = 1, .hostname = "" };

	ck_assert_int_eq(trust_variables(&boot, true), 0);
	ck_assert_str_eq(in_env(&boot, "SSL_CERT_FILE"), TRUST_BUNDLE);
	ck_assert_str_eq(in_env(&boot, "NODE_EXTRA_CA_CERTS"), TRUST_CA);
	ck_assert_str_eq(in_env(&boot, "CURL_CA_BUNDLE"), "/mine");
	free(boot.env);
	boot = (struct msg_boot){ .env = own, .envc = 1, .hostname = "" };
	ck_assert_int_eq(trust_variables(&boot, false), 0);
	ck_assert_str_eq(in_env(&boot, "NODE_EXTRA_CA_CERTS"), TRUST_CA);
	ck_assert_str_eq(in_env(&boot, "SSL_CERT_FILE"), "none");
	free(boot.env);
}
END_TEST

CHECK_MAIN("agent_trust", bundle_is_of_the_image_and_of_the_vm,
	   stores_of_the_image_have_it_once, store_that_a_variable_names_has_it,
	   image_that_trusts_nobody_gets_one, what_cannot_be_written_is_said,
	   certificates_that_are_none,
	   environment_says_so_and_can_say_otherwise)
