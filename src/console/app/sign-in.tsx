import { useSignal } from "@preact/signals";
import type { JSX, TargetedEvent } from "preact";
import { useEffect } from "preact/hooks";
import { isSignedIn, errorText, sendRequest } from "./client.ts";
import { Problem } from "./parts.tsx";

const LINK = /^#sign-in=([\w-]{1,100})$/u;

/** The nonce of a one-time link; it leaves the address bar and the history at once. */
export function takeLink(): string | undefined {
  const [, nonce] = LINK.exec(location.hash) ?? [];
  if (nonce !== undefined) history.replaceState(null, "", "#/");
  return nonce;
}

/** Asks for the gateway token once; with the nonce of a link it asks nothing. */
export function SignIn({ link }: { readonly link: string | undefined }): JSX.Element {
  const problem = useSignal<string | undefined>(undefined);
  const isBusy = useSignal(false);
  const signIn = async (body: object): Promise<void> => {
    isBusy.value = true;
    try {
      await sendRequest("sign-in", body);
      isSignedIn.value = true;
    } catch (error) {
      problem.value = errorText(error);
    } finally {
      isBusy.value = false;
    }
  };
  useEffect(() => {
    if (link !== undefined) void signIn({ link });
  }, []);
  const submit = (event: TargetedEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const token = new FormData(event.currentTarget).get("token");
    void signIn({ token: typeof token === "string" ? token : "" });
  };
  return (
    <main>
      <h1>Reveille</h1>
      <form class="bar" onSubmit={submit}>
        <label>
          Gateway token
          <input name="token" type="password" autocomplete="current-password" required autofocus />
        </label>
        <button class="main" type="submit" disabled={isBusy.value}>
          Sign in
        </button>
      </form>
      <Problem text={problem.value} />
      <p class="faint">
        The token is <code>gateway.auth.token</code> of the configuration. <code>reveille console</code> prints a link
        that signs in without it.
      </p>
    </main>
  );
}
