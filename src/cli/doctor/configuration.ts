import { configLines, ConfigError } from "../../config/config-error.ts";
import { judge } from "../check-config.ts";
import type { Finding } from "./finding.ts";
import type { LocationOptions } from "../file-locations.ts";
import type { LoadOptions } from "../load-generation.ts";
import { loadGeneration } from "../load-generation.ts";

/** What of the configuration decides how much the walls around transforms matter. */
export interface TransformUse {
  /** Mappings with a transform; `undefined`: there is no configuration, or none that can be used. */
  readonly count: number | undefined;
  readonly isolation: "process" | "none";
}

export interface ConfigurationFindings {
  readonly findings: readonly Finding[];
  readonly use: TransformUse;
}

const UNKNOWN_USE: TransformUse = { count: undefined, isolation: "process" };

/** Whether there is a configuration, and whether it could be taken into use. */
export async function configurationFindings(
  options: LocationOptions,
  load: LoadOptions,
): Promise<ConfigurationFindings> {
  const { gateway } = load;
  const { configFile: file } = gateway.locate(options);
  if (!gateway.isConfigured(options)) {
    const message = `there is none at ${file}; write one with: ${gateway.beginWith}`;
    return { findings: [finding("warning", message)], use: UNKNOWN_USE };
  }
  try {
    const loaded = await loadGeneration(options, load);
    const { warnings, audit } = judge(loaded);
    const { mappings, transforms } = loaded.generation.config;
    const found = warnings.length + audit.length;
    return {
      findings: [
        finding("ok", `${file} is valid`),
        ...(found === 0 ? [] : [finding("warning", `${found} could be better; see: ${gateway.program} check`)]),
      ],
      use: {
        count: mappings.filter(({ transform }) => transform !== undefined).length,
        isolation: transforms.isolation,
      },
    };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return { findings: configLines(error.issues).map((message) => finding("problem", message)), use: UNKNOWN_USE };
  }
}

function finding(level: Finding["level"], message: string): Finding {
  return { level, about: "configuration", message };
}
