// The parts of Apache ECharts that the report's page draws with; `make echarts` bundles them.
import { init, use } from "echarts/core";
import { BarChart, LineChart, ScatterChart } from "echarts/charts";
import {
  DataZoomInsideComponent, GridComponent, LegendPlainComponent, MarkLineComponent, MarkPointComponent, TooltipComponent,
} from "echarts/components";
import { CanvasRenderer } from "echarts/renderers";

use([
  BarChart, LineChart, ScatterChart, DataZoomInsideComponent, GridComponent, LegendPlainComponent, MarkLineComponent,
  MarkPointComponent, TooltipComponent, CanvasRenderer,
]);
globalThis.echarts = { init };
