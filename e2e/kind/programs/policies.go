package main

import (
	"fmt"
	"sync"

	"github.com/cloudnativelabs/kube-router/v2/pkg/controllers/netpol"
	"github.com/cloudnativelabs/kube-router/v2/pkg/healthcheck"
	"github.com/cloudnativelabs/kube-router/v2/pkg/options"
	"github.com/spf13/pflag"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// enforcePolicies runs the firewall of kube-router, and nothing else of it: its
// router and proxy would double the packages to compile. It returns only errors.
func enforcePolicies(arguments []string) error {
	config := options.NewKubeRouterConfig()
	flags := pflag.NewFlagSet("network-policies", pflag.ContinueOnError)
	config.AddFlags(flags)
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	rest, err := clientcmd.BuildConfigFromFlags("", config.Kubeconfig)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(rest)
	if err != nil {
		return err
	}
	// Ends where the API server is not up yet: systemd starts it again sooner than the informers would ask again.
	if _, err := client.Discovery().ServerVersion(); err != nil {
		return err
	}
	var ipsets sync.Mutex
	stop := make(chan struct{})
	factory := informers.NewSharedInformerFactory(client, 0)
	pods := factory.Core().V1().Pods().Informer()
	namespaces := factory.Core().V1().Namespaces().Informer()
	policies := factory.Networking().V1().NetworkPolicies().Informer()
	factory.Start(stop)
	factory.WaitForCacheSync(stop)
	tables, sets, err := netpol.NewIPTablesHandlers(config)
	if err != nil {
		return err
	}
	controller, err := netpol.NewNetworkPolicyController(client, config, pods, policies, namespaces, &ipsets, tables, sets)
	if err != nil {
		return err
	}
	for _, add := range []func() error{
		func() error { _, err := pods.AddEventHandler(controller.PodEventHandler); return err },
		func() error { _, err := namespaces.AddEventHandler(controller.NamespaceEventHandler); return err },
		func() error { _, err := policies.AddEventHandler(controller.NetworkPolicyEventHandler); return err },
	} {
		if err := add(); err != nil {
			return err
		}
	}
	heartbeats := make(chan *healthcheck.ControllerHeartbeat, 10)
	go func() {
		for range heartbeats {
		}
	}()
	var running sync.WaitGroup
	running.Add(1)
	controller.Run(heartbeats, stop, &running)
	return fmt.Errorf("the firewall stopped")
}
