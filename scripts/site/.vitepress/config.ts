/** The pages of `docs/` as a site: the same files, with a sidebar from their index and a search that needs no server. */
import { cpSync, readFileSync, rmSync } from "node:fs";
import { resolve } from "node:path";
import { withMermaid } from "vitepress-plugin-mermaid";

interface MarkdownIt {
  readonly core: {
    readonly ruler: { before(rule: string, name: string, change: (state: { src: string }) => void): void };
  };
  readonly renderer: { render(...page: unknown[]): string };
}

const docs = resolve(import.meta.dirname, "../../../docs");
/** A copy, since what a page becomes imports packages from the folders above it. */
const pages = resolve(import.meta.dirname, "../pages");
rmSync(pages, { recursive: true, force: true });
cpSync(docs, pages, { recursive: true });

/** `docs/README.md` lists every page below the heading of its shelf. */
function sidebar(): object[] {
  const [, ...shelves] = readFileSync(resolve(docs, "README.md"), "utf8").split("\n## ");
  return shelves.map((shelf) => ({
    text: shelf.split("\n", 1)[0],
    items: Array.from(shelf.matchAll(/^\| \[(.+?)\]\((.+?)\.md\)/gmu), ([, text, link]) => ({
      text,
      link: `/${link}`,
    })),
  }));
}

export default withMermaid({
  title: "Reveille",
  description: "The webhook ingress of an AI-agent gateway.",
  srcDir: pages,
  outDir: resolve(import.meta.dirname, "../../../dist-site"),
  cacheDir: resolve(import.meta.dirname, "../node_modules/.vitepress-cache"),
  rewrites: { "README.md": "index.md" },
  cleanUrls: true,
  // Files of the repository beside the pages; test/docs/links.test.ts sees that they exist.
  ignoreDeadLinks: [
    /^(?:\.\/)?(?:\.\.\/)+(?:src|test|bench|deploy|examples|scripts|CHANGELOG|AGENTS|README)/u,
    /grafana/u,
  ],
  markdown: {
    // Text in angle brackets is a placeholder of these pages, and no element.
    html: false,
    languageAlias: { json5: "json" },
    config: (md: MarkdownIt) => {
      md.core.ruler.before("normalize", "comments", (state) => {
        state.src = state.src.replaceAll(/<!--.*?-->\n*/gsu, "");
      });
      // Placeholders of templates are text, too, and no expression of Vue.
      const render = md.renderer.render.bind(md.renderer);
      md.renderer.render = (...page) => render(...page).replaceAll("{{", "&#123;&#123;");
    },
  },
  themeConfig: {
    search: { provider: "local" },
    sidebar: sidebar(),
    outline: [2, 3],
  },
});
