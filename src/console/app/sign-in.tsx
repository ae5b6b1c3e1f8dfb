import { useSignal, useSignalEffect } from "@preact/signals";
import type { JSX, TargetedEvent } from "preact";
import { isSignedIn, errorText, sendRequest } from "./client.ts";
import { link } from "./location.ts";
import { Problem } from "./parts.tsx";

/** Asks for the gateway token once; with the nonce of a link it asks nothing. */
export function SignIn(): JSX.Element {
  const problem = useSignal<string | undefined>(undefined);
  const isBusy = useSignal(false);
  const signIn = async (body: object): Promise<void> => {
    isBusy.value = true;
    problem.value = undefined;
    try {
      await sendRequest("sign-in", body);
      isSignedIn.value = true;
    } catch (error) {
      problem.value = errorText(error);
    } finally {
      isBusy.value = false;
    }
  };
  useSignalEffect(() => {
    const nonce = link.value;
    if (nonce === undefined) return;
    // Used once: the form that follows a sign-out has none.
    link.value = undefined;
    void signIn({ link: nonce });
  });
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
